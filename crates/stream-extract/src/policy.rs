//! What a well-formed archive may ask for. Faults of the format are refused by every policy.

/// Which names, links and zip features are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub(crate) portable_names: bool,
    pub(crate) data_descriptors: bool,
    pub(crate) links: bool,
    pub(crate) root: Option<String>,
}

impl Policy {
    /// Only what means the same on every system: no two names that differ in case or Unicode form,
    /// none that Windows cannot hold. The default.
    pub fn portable() -> Self {
        Self { portable_names: true, data_descriptors: true, links: false, root: None }
    }

    /// Wheels and source archives of the Python package index: no data descriptors, as its upload
    /// rules demand; names that this system can hold.
    pub fn pypi() -> Self {
        Self { portable_names: false, data_descriptors: false, links: false, root: None }
    }

    /// `.crate` files: names that this system can hold. See [`root`](Self::root).
    pub fn crate_() -> Self {
        Self { portable_names: false, data_descriptors: false, links: false, root: None }
    }

    /// Accepts names that only some systems can hold, such as `README` beside `readme`.
    ///
    /// Names that leave the target folder stay refused, and Windows always applies its own rules.
    #[must_use]
    pub fn native_names(self) -> Self {
        Self { portable_names: false, ..self }
    }

    /// Whether tar archives may have links that stay inside the target folder. Refused unless switched on.
    ///
    /// Links are made last, so that nothing is ever written through one. A symbolic link's target may
    /// start with `..` components that stay inside, and must have none behind a name: what that means
    /// depends on other links. Links in zip archives are always refused.
    #[must_use]
    pub fn links(self, links: bool) -> Self {
        Self { links, ..self }
    }

    /// Refuses every entry whose first component is not `root`, such as `serde-1.0.0`.
    #[must_use]
    pub fn root(self, root: impl Into<String>) -> Self {
        Self { root: Some(root.into()), ..self }
    }

    /// True when names must suit every system: by choice, or because this system demands it.
    pub(crate) fn checks_windows_names(&self) -> bool {
        self.portable_names || cfg!(windows)
    }

    /// True when names that differ only in case or Unicode form collide.
    pub(crate) fn folds_names(&self) -> bool {
        self.portable_names || cfg!(any(windows, target_vendor = "apple"))
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::portable()
    }
}
