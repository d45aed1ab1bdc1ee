//! A cargo home with a registry in it, and projects that use it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// A folder that goes away, with a cargo home and projects inside.
pub(crate) struct Home {
    root: tempfile::TempDir,
    index: PathBuf,
    archives: PathBuf,
}

/// A version to publish.
pub(crate) struct Crate {
    name: String,
    version: String,
    deps: Vec<Value>,
    features: BTreeMap<String, Vec<String>>,
    features2: BTreeMap<String, Vec<String>>,
    links: Option<String>,
    rust_version: Option<String>,
    yanked: bool,
    files: Vec<(String, Vec<u8>)>,
    schema: Option<u32>,
}

impl Crate {
    pub(crate) fn new(name: &str, version: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            deps: Vec::new(),
            features: BTreeMap::new(),
            features2: BTreeMap::new(),
            links: None,
            rust_version: None,
            yanked: false,
            files: Vec::new(),
            schema: None,
        }
    }

    /// A dependency in the registry's own form; what is not given has the usual value.
    pub(crate) fn dep(mut self, name: &str, req: &str, other: &Value) -> Self {
        let mut dep = json!({
            "name": name, "req": req, "features": [], "optional": false,
            "default_features": true, "target": null, "kind": "normal",
        });
        for (key, value) in other.as_object().into_iter().flatten() {
            dep[key] = value.clone();
        }
        self.deps.push(dep);
        self
    }

    pub(crate) fn needs(self, name: &str, req: &str) -> Self {
        self.dep(name, req, &json!({}))
    }

    pub(crate) fn feature(mut self, name: &str, list: &[&str]) -> Self {
        let list = list.iter().map(|value| (*value).to_owned()).collect();
        self.features.insert(name.to_owned(), list);
        self
    }

    /// A feature in the table that older cargos do not read.
    pub(crate) fn feature2(mut self, name: &str, list: &[&str]) -> Self {
        let list = list.iter().map(|value| (*value).to_owned()).collect();
        self.features2.insert(name.to_owned(), list);
        self.schema = Some(2);
        self
    }

    pub(crate) fn links(mut self, links: &str) -> Self {
        self.links = Some(links.to_owned());
        self
    }

    pub(crate) fn rust_version(mut self, version: &str) -> Self {
        self.rust_version = Some(version.to_owned());
        self
    }

    pub(crate) fn yanked(mut self) -> Self {
        self.yanked = true;
        self
    }

    pub(crate) fn schema(mut self, schema: u32) -> Self {
        self.schema = Some(schema);
        self
    }

    pub(crate) fn file(mut self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.files.push((path.to_owned(), content.as_ref().to_vec()));
        self
    }

    fn line(&self, checksum: &str) -> Value {
        let mut line = json!({
            "name": self.name, "vers": self.version, "deps": self.deps, "cksum": checksum,
            "features": self.features, "yanked": self.yanked, "links": self.links,
        });
        for (key, value) in [
            ("rust_version", self.rust_version.clone().map(Value::from)),
            ("v", self.schema.map(Value::from)),
            ("features2", (!self.features2.is_empty()).then(|| json!(self.features2))),
        ] {
            if let Some(value) = value {
                line[key] = value;
            }
        }
        line
    }

    /// The archive: what was given, a manifest and an empty library.
    fn archive(&self) -> Vec<u8> {
        let mut files = self.files.clone();
        if !files.iter().any(|(path, _)| path == "Cargo.toml") {
            files.push(("Cargo.toml".to_owned(), self.manifest().into_bytes()));
        }
        if !files.iter().any(|(path, _)| path == "src/lib.rs") {
            files.push(("src/lib.rs".to_owned(), Vec::new()));
        }
        let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut tar = tar::Builder::new(gzip);
        for (path, content) in &files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(if content.starts_with(b"#!") { 0o755 } else { 0o644 });
            let path = format!("{}-{}/{path}", self.name, self.version);
            tar.append_data(&mut header, path, &content[..]).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap()
    }

    fn manifest(&self) -> String {
        let (name, version) = (&self.name, &self.version);
        let head =
            format!("[package]\nname = \"{name}\"\nversion = \"{version}\"\nedition = \"2021\"\n");
        let deps = self.deps.iter().map(dependency_table);
        let features = self.features.iter().chain(&self.features2);
        let features = features.map(|(name, list)| format!("{name} = {}\n", json!(list)));
        let lines = [head].into_iter().chain(deps).chain(["[features]\n".to_owned()]);
        lines.chain(features).collect()
    }
}

fn dependency_table(dep: &Value) -> String {
    let name = dep["name"].as_str().unwrap();
    let keys = [("version", "req"), ("optional", "optional"), ("features", "features")];
    let keys = keys.into_iter().chain([("default-features", "default_features")]);
    let package = dep.get("package").map(|package| format!("package = {package}\n"));
    let lines = keys.map(|(toml, json)| format!("{toml} = {}\n", dep[json]));
    [format!("[dependencies.{name}]\n")].into_iter().chain(lines).chain(package).collect()
}

impl Home {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let url = tame_index::CRATES_IO_HTTP_INDEX;
        let folder = tame_index::utils::url_to_local_dir(url, true).unwrap().dir_name;
        let registry = root.path().join("cargo/registry");
        let (index, archives) =
            (registry.join("index").join(&folder), registry.join("cache").join(&folder));
        fs::create_dir_all(index.join(".cache")).unwrap();
        fs::create_dir_all(&archives).unwrap();
        fs::write(index.join("config.json"), r#"{"dl":"http://127.0.0.1:9/dl"}"#).unwrap();
        Self { root, index, archives }
    }

    pub(crate) fn cargo_home(&self) -> PathBuf {
        self.root.path().join("cargo")
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.path().join(relative)
    }

    /// Where mini-cargo keeps its index cache.
    pub(crate) fn index_file(&self) -> PathBuf {
        let dir = self.cargo_home().join("mini-cargo/index");
        let files = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path());
        let mut caches = files.filter(|path| path.extension() == Some(OsStr::new("ixc")));
        caches.next().expect("an index cache")
    }

    pub(crate) fn archive(&self, name: &str, version: &str) -> PathBuf {
        self.archives.join(format!("{name}-{version}.crate"))
    }

    /// Cargo's own cache file of a crate.
    pub(crate) fn cargo_file(&self, name: &str) -> PathBuf {
        let name = name.to_lowercase();
        let folder = match name.len() {
            1 | 2 => name.len().to_string(),
            3 => format!("3/{}", &name[..1]),
            _ => format!("{}/{}", &name[..2], &name[2..4]),
        };
        self.index.join(".cache").join(folder).join(name)
    }

    /// Adds a version to the registry and its archive to the home.
    pub(crate) fn publish(&self, package: &Crate) {
        let archive = package.archive();
        let checksum = checksum(&archive);
        fs::write(self.archive(&package.name, &package.version), &archive).unwrap();
        let path = self.cargo_file(&package.name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut bytes = fs::read(&path).unwrap_or_else(|_| b"\x03\x02\0\0\0etag: \"1\"\0".to_vec());
        bytes.extend(format!("{}\0{}\0", package.version, package.line(&checksum)).bytes());
        fs::write(&path, bytes).unwrap();
    }

    pub(crate) fn publish_all(&self, packages: &[Crate]) {
        for package in packages {
            self.publish(package);
        }
    }

    /// A project with these files.
    pub(crate) fn project(&self, files: &[(&str, &str)]) -> Project<'_> {
        let project = Project { home: self, dir: self.root.path().join("project") };
        for (path, content) in files {
            project.write(path, content);
        }
        project
    }

    /// A project with one package and an empty library.
    pub(crate) fn package(&self, manifest: &str) -> Project<'_> {
        let head = "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
        self.project(&[("Cargo.toml", &format!("{head}{manifest}")), ("src/lib.rs", "")])
    }
}

/// A folder with manifests, used by both programs.
pub(crate) struct Project<'a> {
    pub(crate) home: &'a Home,
    pub(crate) dir: PathBuf,
}

/// What a program did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Project<'_> {
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::File::create(path).unwrap().write_all(content.as_ref()).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.dir.join(path)).unwrap()
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.dir.join(path).exists()
    }

    pub(crate) fn mini(&self, args: &[&str]) -> Ran {
        let program = env!("CARGO_BIN_EXE_mini-cargo");
        self.run(program, args, &self.home.cargo_home())
    }

    /// Real cargo, which asks no registry.
    pub(crate) fn cargo(&self, args: &[&str]) -> Ran {
        let mut all = vec!["-Zno-index-update"];
        all.extend(args);
        self.run(env!("CARGO"), &all, &self.home.cargo_home())
    }

    /// Real cargo with a home of its own.
    pub(crate) fn cargo_in(&self, home: &Path, args: &[&str]) -> Ran {
        self.run(env!("CARGO"), args, home)
    }

    fn run(&self, program: &str, args: &[&str], home: &Path) -> Ran {
        Ran::from(self.command(program, args, home).output().unwrap())
    }

    /// A program that was not started yet.
    pub(crate) fn command(&self, program: &str, args: &[&str], home: &Path) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO") || text.starts_with("MINI_CARGO") {
                command.env_remove(&name);
            }
        }
        command.args(args).current_dir(&self.dir).env("CARGO_HOME", home);
        command.env("RUSTC_BOOTSTRAP", "1").env("NO_COLOR", "1");
        command
    }

    /// Both programs run `args` from what is there now; exit codes and lock files must be the same.
    #[track_caller]
    pub(crate) fn assert_alike(&self, args: &[&str]) -> Ran {
        self.alike(args).unwrap_or_else(|difference| panic!("{difference}"))
    }

    /// The same as a value, for a list of cases of which each is to be seen.
    pub(crate) fn alike(&self, args: &[&str]) -> Result<Ran, String> {
        let path = self.dir.join("Cargo.lock");
        let before = fs::read(&path).ok();
        let theirs = self.cargo(args);
        let lock = fs::read_to_string(&path).ok();
        match before {
            Some(text) => fs::write(&path, text).unwrap(),
            None => drop(fs::remove_file(&path)),
        }
        let ours = self.mini(&[args, &["--offline"]].concat());
        let our_lock = fs::read_to_string(&path).ok();
        if ours.code == theirs.code && our_lock == lock {
            return Ok(ours);
        }
        let said = format!("cargo:\n{}\nmini-cargo:\n{}", theirs.stderr, ours.stderr);
        let locks = format!("cargo's lock: {lock:?}\nours:         {our_lock:?}");
        Err(format!("{:?} is not {:?} {args:?}\n{said}\n{locks}\n", ours.code, theirs.code))
    }

    /// Both programs lock the project; the texts must be the same.
    #[track_caller]
    pub(crate) fn assert_same_lock(&self) -> String {
        let theirs = self.lock_with_cargo();
        let ours = self.lock_with_mini(&["generate-lockfile", "--offline"]);
        assert_eq!(ours, theirs, "ours is left, cargo's is right");
        ours
    }

    #[track_caller]
    pub(crate) fn lock_with_cargo(&self) -> String {
        drop(fs::remove_file(self.dir.join("Cargo.lock")));
        self.cargo(&["generate-lockfile"]).success();
        self.read("Cargo.lock")
    }

    #[track_caller]
    pub(crate) fn lock_with_mini(&self, args: &[&str]) -> String {
        drop(fs::remove_file(self.dir.join("Cargo.lock")));
        self.mini(args).success();
        self.read("Cargo.lock")
    }

    /// Both programs refuse to lock the project; cargo's message and ours.
    #[track_caller]
    pub(crate) fn refusals(&self) -> (String, String) {
        let theirs = self.cargo(&["generate-lockfile"]);
        let ours = self.mini(&["generate-lockfile", "--offline"]);
        assert_eq!(theirs.code, Some(101), "{theirs:?}");
        assert_eq!(ours.code, Some(101), "{ours:?}");
        assert!(!self.has("Cargo.lock"), "a refusal leaves no lock file");
        (theirs.stderr, ours.stderr)
    }
}

impl Ran {
    #[track_caller]
    pub(crate) fn success(&self) -> &Self {
        assert_eq!(self.code, Some(0), "{}{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn failure(&self) -> &Self {
        assert_eq!(self.code, Some(101), "{}{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn says(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "`{text}` is missing in:\n{}", self.stderr);
        self
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

pub(crate) fn checksum(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.concat()
}
