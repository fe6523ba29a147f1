//! The renaming of the files in a recording's folder after their keys.

use std::path::PathBuf;

use super::disk::Disk;
use super::error::StoreError;
use super::reader::{Recording, paths_of};
use super::rewrite::commit;

impl Recording {
    /// Renames the files of a folder whose names do not match their keys. Returns the old and the
    /// new name of each. Their contents stay unchanged.
    ///
    /// # Errors
    /// As for [`Self::rewrite`]. Some may be renamed then, which does no harm.
    pub fn rename_files(&self) -> Result<Vec<(PathBuf, String)>, StoreError> {
        let Some((base, outline)) = self.only_base() else { return Ok(Vec::new()) };
        let paths = paths_of(self.path())?;
        let renamed = base.misnamed_files(outline).into_iter();
        let moves: Vec<_> = renamed.map(|(file, to)| (paths.target.join(file), to)).collect();
        if moves.is_empty() {
            return Ok(Vec::new());
        }
        let disk = Disk::real();
        let failed = |source| StoreError::write(paths.target.clone(), source);
        commit(&paths, &disk, self.opened(), false, || {
            let each = |(from, to): &(PathBuf, String)| disk.rename(from, &paths.target.join(to));
            moves.iter().try_for_each(each).map_err(failed)?;
            disk.sync_folder(&paths.target).map_err(failed)
        })?;
        Ok(moves)
    }
}
