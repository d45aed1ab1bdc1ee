//! HTTP as cargo does it: the platform's certificates, proxies, retries with growing pauses.
//!
//! One request per call and thread; who wants several at once brings the threads. Nothing here
//! knows what is asked for. Absent: HTTP/2, and credentials for private registries.

use std::io;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Body, Proxy};

use crate::names::Names;
use crate::shell::Shell;

/// A response whose body was not read yet.
pub(crate) type Response = ureq::http::Response<Body>;

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// Every thread finds its connection again: a new one costs two or three round trips.
const IDLE_CONNECTIONS_MAX: usize = 64;

/// Asks servers.
#[derive(Debug)]
pub(crate) struct Client {
    agent: Agent,
    retries: u32,
    shell: Shell,
}

/// A request that failed, and whether it may succeed when it is repeated.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: anyhow::Error,
    pub(crate) transient: bool,
}

impl Client {
    pub(crate) fn new(config: &cargo_config2::Config, shell: Shell) -> Result<Self> {
        let proxy = match &config.http.proxy {
            Some(proxy) => Some(Proxy::new(proxy).context("invalid `http.proxy`")?),
            None => Proxy::try_from_env(),
        };
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let patience = Duration::from_secs(config.http.timeout.map_or(30, u64::from));
        let settings = Agent::config_builder()
            .tls_config(tls)
            .proxy(proxy)
            .http_status_as_error(false)
            .timeout_connect(Some(patience))
            .timeout_recv_response(Some(patience))
            .timeout_per_read(Some(patience))
            .max_idle_connections(IDLE_CONNECTIONS_MAX)
            .max_idle_connections_per_host(IDLE_CONNECTIONS_MAX)
            .user_agent(concat!("mini-cargo/", env!("CARGO_PKG_VERSION")))
            .build();
        let names = Names::<DefaultResolver>::default();
        let agent = Agent::with_parts(settings, DefaultConnector::new(), names);
        Ok(Self { agent, retries: config.net.retry.unwrap_or(3), shell })
    }

    /// Sends one request; server errors are failures, other answers are the caller's business.
    pub(crate) fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<Response, Failure> {
        let mut request = self.agent.get(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.call().map_err(|error| Failure::of(error, url))?;
        let status = response.status();
        if status.is_server_error() || status.as_u16() == 429 {
            let error = anyhow!("`{url}` answered {status}");
            return Err(Failure { error, transient: true });
        }
        Ok(response)
    }

    /// Repeats `attempt` while it fails for a reason that may pass.
    pub(crate) fn persist<T>(&self, mut attempt: impl FnMut() -> Result<T, Failure>) -> Result<T> {
        let mut pause = FIRST_PAUSE;
        for left in (0..self.retries).rev() {
            match attempt() {
                Err(Failure { error, transient: true }) => self.shell.warn(format_args!(
                    "spurious network error ({} tries remaining): {error:#}",
                    left + 1
                )),
                other => return other.map_err(|failure| failure.error),
            }
            thread::sleep(pause);
            pause = PAUSE_MAX.min(pause * 2);
        }
        attempt().map_err(|failure| failure.error)
    }
}

impl Failure {
    fn of(error: ureq::Error, url: &str) -> Self {
        let transient = match &error {
            ureq::Error::Io(error) => is_transient(error),
            ureq::Error::Timeout(_) | ureq::Error::ConnectionFailed => true,
            _ => false,
        };
        let error = anyhow!(error).context(format!("failed to download from `{url}`"));
        Self { error, transient }
    }

    /// A body that broke off.
    pub(crate) fn reading(error: io::Error, url: &str) -> Self {
        let error = anyhow!(error).context(format!("failed to download from `{url}`"));
        Self { error, transient: true }
    }

    pub(crate) fn permanent(error: anyhow::Error) -> Self {
        Self { error, transient: false }
    }
}

/// Nobody listening is a mistake in an address; a broken connection may be bad luck.
fn is_transient(error: &io::Error) -> bool {
    !matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound)
}
