//! Asks servers for bytes: certificates of the platform, credentials of the address or of `.netrc`,
//! retries.
//!
//! Blocking by design: the callers are threads that unpack what arrives. Redirects, proxies (from the
//! usual variables) and connection reuse are the HTTP library's. `--offline` is enforced here, so that
//! no caller can forget it.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context, bail};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Body, Proxy};
use url::Url;

use crate::fault::Advise;
use crate::names::Names;
use crate::netrc::Netrc;
use crate::record;

/// How often a request is sent before its failure counts.
const ATTEMPTS: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// Every thread finds its connection again: a new one costs two or three round trips.
const IDLE_CONNECTIONS_MAX: usize = 64;

/// A client for every server that one command talks to.
///
/// Reading certificates takes longer than a small local install, so it waits for the first request.
#[derive(Debug)]
pub(crate) struct Http {
    agent: OnceLock<Agent>,
    netrc: OnceLock<Netrc>,
    offline: bool,
    cert: Option<PathBuf>,
    /// None: what the usual variables say.
    proxy: Option<String>,
    /// How long a server may be silent.
    patience: Duration,
}

/// An answer whose body was not read yet.
pub(crate) type Response = ureq::http::Response<Body>;

impl Http {
    /// A client that trusts the platform's certificates, or those in the file `cert`, and that asks
    /// through `proxy`, or through what the usual variables say; a server may be silent for `patience`.
    pub(crate) fn new(
        offline: bool,
        cert: Option<&Path>,
        proxy: Option<&str>,
        patience: Duration,
    ) -> Self {
        let (agent, netrc) = (OnceLock::new(), OnceLock::new());
        let (cert, proxy) = (cert.map(Path::to_owned), proxy.map(str::to_owned));
        Self { agent, netrc, offline, cert, proxy, patience }
    }

    fn agent(&self) -> anyhow::Result<&Agent> {
        if let Some(agent) = self.agent.get() {
            return Ok(agent);
        }
        let roots = match &self.cert {
            Some(file) => certificates(file)?,
            None => RootCerts::PlatformVerifier,
        };
        let proxy = match &self.proxy {
            Some(url) => Some(
                Proxy::new(url)
                    .with_context(|| format!("`{url}` is not the address of a proxy"))
                    .hint("write it like `http://user:password@host:3128`")?,
            ),
            None => Proxy::try_from_env(),
        };
        // Two threads may come here at once; the first agent is kept.
        Ok(self.agent.get_or_init(|| new_agent(roots, proxy, self.patience)))
    }

    pub(crate) fn is_offline(&self) -> bool {
        self.offline
    }

    /// Ends every transfer; those that would start from now on fail at once.
    pub(crate) fn stop(&self) {
        if let Some(agent) = self.agent.get() {
            agent.clone().shutdown();
        }
    }

    /// Sends a request until an answer comes that is worth reading.
    ///
    /// Server errors and lost connections are tried again; other answers, 404 too, are the caller's.
    pub(crate) fn get(&self, url: &Url, headers: &[(&str, &str)]) -> anyhow::Result<Response> {
        if self.offline {
            return Err(anyhow::anyhow!(
                "network access is disabled, and `{}` is not in the cache",
                public(url)
            ))
            .hint("run once without `--offline` to fill the cache");
        }
        let agent = self.agent()?;
        let mut pause = FIRST_PAUSE;
        for attempt in 1..=ATTEMPTS {
            let answer = send(agent, url, headers, self.authorization(url).as_deref());
            let again = match &answer {
                Ok(response) => is_temporary(response.status().as_u16()),
                Err(error) => is_worth_retrying(error),
            };
            if !again || attempt == ATTEMPTS {
                return answer
                    .with_context(|| format!("failed to fetch `{}`", public(url)))
                    .hint_with(|| advice(url));
            }
            tracing::debug!("trying `{}` again in {pause:?}", public(url));
            std::thread::sleep(pause);
            pause *= 2;
        }
        bail!("failed to fetch `{}`", public(url))
    }
}

impl Http {
    /// The Authorization header for `url`: from the address, else from the user's `.netrc`.
    fn authorization(&self, url: &Url) -> Option<String> {
        if !url.username().is_empty() || url.password().is_some() {
            let decode = crate::request::decode_percent;
            return Some(basic(
                &decode(url.username()),
                &decode(url.password().unwrap_or_default()),
            ));
        }
        let (user, password) =
            self.netrc.get_or_init(Netrc::of_user).credentials(url.host_str()?)?;
        Some(basic(user, password))
    }
}

fn new_agent(roots: RootCerts, proxy: Option<Proxy>, patience: Duration) -> Agent {
    let config = Agent::config_builder()
        .proxy(proxy)
        .tls_config(TlsConfig::builder().root_certs(roots).build())
        .http_status_as_error(false)
        .max_idle_connections(IDLE_CONNECTIONS_MAX)
        .max_idle_connections_per_host(IDLE_CONNECTIONS_MAX)
        .user_agent(concat!("mini-uv/", env!("CARGO_PKG_VERSION")))
        .timeout_connect(Some(Duration::from_secs(10)))
        .timeout_recv_response(Some(patience))
        .timeout_per_read(Some(patience))
        .build();
    Agent::with_parts(config, DefaultConnector::new(), Names::<DefaultResolver>::default())
}

fn send(
    agent: &Agent,
    url: &Url,
    headers: &[(&str, &str)],
    authorization: Option<&str>,
) -> Result<Response, ureq::Error> {
    tracing::debug!("GET {}", public(url));
    let mut request = agent.get(public(url).as_str());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if let Some(authorization) = authorization {
        request = request.header("Authorization", authorization);
    }
    request.call()
}

fn certificates(file: &Path) -> anyhow::Result<RootCerts> {
    let pem = fs_err::read(file).hint("`--cert` takes a file of certificates in PEM format")?;
    let mut found: Vec<Certificate<'static>> = Vec::new();
    for item in parse_pem(&pem) {
        if let PemItem::Certificate(certificate) = item? {
            found.push(certificate);
        }
    }
    if found.is_empty() {
        bail!("`{}` holds no certificate", file.display());
    }
    Ok(RootCerts::new_with_certs(&found))
}

/// The body of a successful answer, or the status as an error.
pub(crate) fn body(url: &Url, response: Response) -> anyhow::Result<Body> {
    let status = response.status();
    if status.is_success() {
        return Ok(response.into_body());
    }
    let result: anyhow::Result<Body> = Err(anyhow::anyhow!("`{}` answered {status}", public(url)));
    match status.as_u16() {
        401 | 403 => result
            .hint(
            "put credentials into the address of the index (`https://user:password@...`), or into `.netrc`",
        ),
        _ => result.hint_with(|| advice(url)),
    }
}

/// Reads a whole body of at most `max` bytes.
pub(crate) fn read_all(body: Body, max: u64) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read =
        body.into_with_config().limit(max + 1).reader().take(max + 1).read_to_end(&mut bytes)?;
    if read as u64 > max {
        bail!("the answer has more than {max} bytes");
    }
    Ok(bytes)
}

/// The value of a header, if it is text.
pub(crate) fn header<'r>(response: &'r Response, name: &str) -> Option<&'r str> {
    response.headers().get(name)?.to_str().ok()
}

fn is_temporary(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502 | 503 | 504)
}

fn is_worth_retrying(error: &ureq::Error) -> bool {
    match error {
        // Nobody listens there, or this client was stopped.
        ureq::Error::Io(error) => {
            !matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotConnected)
        }
        ureq::Error::Timeout(_) | ureq::Error::ConnectionFailed => true,
        _ => false,
    }
}

fn advice(url: &Url) -> String {
    let host = url.host_str().unwrap_or("the server");
    format!(
        "check the address and the connection to {host}, or use what is in the cache with `--offline`"
    )
}

/// The address without credentials, for requests, messages and records.
pub(crate) fn public(url: &Url) -> Url {
    let mut url = url.clone();
    // Only addresses without a host refuse this, and they have no credentials.
    url.set_username("").unwrap_or(());
    url.set_password(None).unwrap_or(());
    url
}

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", base64(format!("{user}:{password}").as_bytes()))
}

/// Base64 with padding, from the URL-safe alphabet that RECORD uses.
fn base64(bytes: &[u8]) -> String {
    let mut text = record::encode(bytes).replace('-', "+").replace('_', "/");
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_sent_and_never_shown() {
        let url: Url = "https://us%40er:p%3Ass@host.test/simple/?".parse().unwrap();
        let http = Http::new(true, None, None, Duration::MAX);
        http.netrc.set(Netrc::default()).unwrap();
        assert_eq!(http.authorization(&url).unwrap(), "Basic dXNAZXI6cDpzcw==");
        assert!(!public(&url).to_string().contains("ss@"));
        assert_eq!(http.authorization(&"https://host.test/".parse().unwrap()), None);
    }

    #[test]
    fn offline_asks_nobody() {
        let http = Http::new(true, None, None, Duration::MAX);
        let error = http.get(&"http://127.0.0.1:1/".parse().unwrap(), &[]).unwrap_err();
        assert!(error.to_string().contains("network access is disabled"));
    }
}
