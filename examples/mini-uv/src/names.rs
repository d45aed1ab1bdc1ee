//! Looks a server's name up once and remembers its addresses for the run.
//!
//! The HTTP library asks the system before every request, also for one that goes through a connection
//! that is open already. A question that gets lost on its way is repeated after five seconds: an
//! installation of eighty packages asks two hundred times and stood still for half a minute. Names are
//! looked up one after the other, so that threads that start together ask once.
//!
//! Failures are not remembered, and nothing outlives the process.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// A resolver that asks `R` once for every server.
#[derive(Debug, Default)]
pub(crate) struct Names<R = DefaultResolver> {
    asked: R,
    known: Mutex<HashMap<String, Vec<SocketAddr>>>,
}

impl<R: Resolver> Resolver for Names<R> {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let server = server(uri);
        if let Some(addresses) = known.get(&server) {
            let mut answer = self.empty();
            for address in addresses {
                answer.push(*address);
            }
            return Ok(answer);
        }
        let answer = self.asked.resolve(uri, config, timeout)?;
        known.insert(server, answer.iter().copied().collect());
        Ok(answer)
    }
}

/// What decides the addresses: the scheme has a default port.
fn server(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or_default();
    format!("{scheme}://{}", uri.authority().map_or("", |authority| authority.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU16, Ordering};

    /// Answers with as many questions as it was asked, and with none for `lost.test`.
    #[derive(Debug, Default)]
    struct Counting(AtomicU16);

    impl Resolver for Counting {
        fn resolve(
            &self,
            uri: &Uri,
            _: &Config,
            _: NextTimeout,
        ) -> Result<ResolvedSocketAddrs, ureq::Error> {
            let asked = self.0.fetch_add(1, Ordering::Relaxed) + 1;
            if uri.host() == Some("lost.test") {
                return Err(ureq::Error::HostNotFound);
            }
            let mut answer = self.empty();
            answer.push(SocketAddr::from(([127, 0, 0, 1], asked)));
            Ok(answer)
        }
    }

    fn ask(names: &Names<Counting>, uri: &str) -> Option<u16> {
        let timeout = NextTimeout::default();
        let answer = names.resolve(&uri.parse().unwrap(), &Config::default(), timeout).ok()?;
        assert_eq!(answer.len(), 1);
        Some(answer[0].port())
    }

    #[test]
    fn a_server_is_looked_up_once_and_a_failure_again() {
        let names = Names::<Counting>::default();
        assert_eq!(ask(&names, "https://a.test/simple/x/"), Some(1));
        assert_eq!(ask(&names, "https://a.test/simple/y/"), Some(1));
        assert_eq!(ask(&names, "https://a.test:8080/"), Some(2));
        assert_eq!(ask(&names, "http://a.test/"), Some(3));
        assert_eq!(ask(&names, "https://lost.test/"), None);
        assert_eq!(ask(&names, "https://lost.test/"), None);
        assert_eq!(ask(&names, "https://a.test/"), Some(1));
        assert_eq!(names.asked.0.load(Ordering::Relaxed), 5);
    }
}
