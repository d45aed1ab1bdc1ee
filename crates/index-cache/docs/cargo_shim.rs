use index_cache::{CargoBlobs, FILE_NAME, IndexCache, Options, Result, WriteSkipped};

/// Manages the on-disk index cache: one checksummed file in the place of a file per crate.
pub struct CacheManager<'gctx> {
    blobs: Result<CargoBlobs>,
    gctx: &'gctx GlobalContext,
    has_warned: RefCell<bool>,
}

impl<'gctx> CacheManager<'gctx> {
    pub fn new(cache_root: Filesystem, gctx: &'gctx GlobalContext) -> CacheManager<'gctx> {
        let path = cache_root.join(FILE_NAME).into_path_unlocked();
        let cache = IndexCache::open(path, Options::new());
        CacheManager { blobs: cache.map(CargoBlobs::new), gctx, has_warned: Default::default() }
    }

    pub fn get(&self, key: &str) -> Option<Vec<u8>> {
        self.blobs.as_ref().ok()?.get(key)
    }

    pub fn put(&self, key: &str, value: &[u8]) {
        self.write(|blobs| blobs.put(key, value));
    }

    pub fn invalidate(&self, key: &str) {
        self.write(|blobs| blobs.invalidate(key));
    }

    fn write(&self, write: impl FnOnce(&CargoBlobs) -> Result<Option<WriteSkipped>>) {
        let problem = match self.blobs.as_ref().map(write) {
            Ok(Ok(None)) => return,
            Ok(Ok(Some(skipped))) => skipped.to_string(),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        if !self.has_warned.replace(true) {
            let _ = self.gctx.shell().warn(format!("failed to write the index cache: {problem}"));
        }
    }
}

impl Drop for CacheManager<'_> {
    fn drop(&mut self) {
        self.write(|blobs| blobs.flush());
    }
}
