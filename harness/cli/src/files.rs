//! Files are written whole or not at all.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use crate::trouble::Trouble;

/// Writes a file under a name of its own first, and gives it its name once it is whole.
pub(crate) fn write_whole(path: &Path, text: &str) -> Result<(), Trouble> {
    let broken = |error: std::io::Error| Trouble::Usage(format!("{} cannot be written: {error}", path.display()));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(broken)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(broken)?;
    file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(broken)?;
    // A temporary file is private; what takes its place is as readable as the one it replaces, or as any new file.
    let mode = fs::metadata(path).map(|known| known.permissions());
    file.persist(path).map_err(|error| broken(error.error))?;
    match mode {
        Ok(mode) => fs::set_permissions(path, mode).map_err(broken),
        Err(_) => readable(path).map_err(broken),
    }
}

#[cfg(unix)]
fn readable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_path: &Path) -> std::io::Result<()> {
    Ok(())
}
