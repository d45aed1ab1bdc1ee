//! A sink that remembers every call, for comparing two ways of reading.

use std::cell::RefCell;
use std::collections::BTreeMap;

use stream_extract::{Done, Entry, Link, Sink, SinkError, Summary};

/// What a tree would be: path to content and executable bit; folders have no content.
pub(crate) type Tree = BTreeMap<String, (Option<Vec<u8>>, bool)>;

/// Shared, so that a test can look after the sink is gone.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) tree: RefCell<Tree>,
    pub(crate) calls: RefCell<Vec<String>>,
}

#[derive(Debug)]
pub(crate) struct Recorder<'a> {
    pub(crate) log: &'a Log,
}

impl Recorder<'_> {
    fn note(&self, text: String) {
        self.log.calls.borrow_mut().push(text);
    }
}

impl Sink for Recorder<'_> {
    type File = (String, Vec<u8>, bool);
    type Committed = Tree;

    fn directory(&mut self, entry: &Entry<'_>) -> Result<(), SinkError> {
        self.note(format!("directory {}", entry.path()));
        self.log.tree.borrow_mut().insert(entry.path().to_owned(), (None, false));
        Ok(())
    }

    fn begin(&mut self, entry: &Entry<'_>) -> Result<Self::File, SinkError> {
        self.note(format!("begin {} {:?}", entry.path(), entry.id()));
        Ok((entry.path().to_owned(), Vec::new(), entry.executable() == Some(true)))
    }

    fn chunk(&mut self, file: &mut Self::File, bytes: &[u8]) -> Result<(), SinkError> {
        assert!(!bytes.is_empty() && bytes.len() <= 65_536);
        self.note(format!("chunk {}", bytes.len()));
        file.1.extend_from_slice(bytes);
        Ok(())
    }

    fn end(&mut self, file: Self::File, done: &Done) -> Result<(), SinkError> {
        self.note(format!("end {done:?}"));
        assert_eq!(done.size, file.1.len() as u64);
        let old = self.log.tree.borrow_mut().insert(file.0, (Some(file.1), file.2));
        assert_eq!(old, None, "a path is given once");
        Ok(())
    }

    fn link(&mut self, entry: &Entry<'_>, link: Link<'_>) -> Result<(), SinkError> {
        self.note(format!("link {} {link:?}", entry.path()));
        Ok(())
    }

    fn late_exec(&mut self, entry: &Entry<'_>, executable: bool) -> Result<(), SinkError> {
        self.note(format!("late {} {executable}", entry.path()));
        let mut tree = self.log.tree.borrow_mut();
        tree.get_mut(entry.path()).expect("it was stored before").1 = executable;
        Ok(())
    }

    fn commit(self, _: &Summary) -> Result<Tree, SinkError> {
        self.note("commit".to_owned());
        Ok(self.log.tree.take())
    }
}
