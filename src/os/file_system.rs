//! File systems: whether one is on the network.

use std::path::Path;

/// The kind of network file system that a folder is on; `None` if it is on this machine, or the
/// kind is unknown. Locks on such file systems may not work between machines.
#[cfg(target_os = "linux")]
pub fn network_file_system(folder: &Path) -> Option<&'static str> {
    let kind = rustix::fs::statfs(folder).ok()?.f_type;
    // The field's sign and width differ by architecture; a magic number has 32 bits.
    name(kind as u32)
}

/// The same for systems that do not say.
#[cfg(not(target_os = "linux"))]
pub fn network_file_system(_folder: &Path) -> Option<&'static str> {
    None
}

/// The names of `f_type`'s values, from linux/magic.h and the file systems' own
/// sources.
#[cfg(target_os = "linux")]
fn name(kind: u32) -> Option<&'static str> {
    Some(match kind {
        0x6969 => "NFS",
        0x517b => "SMB",
        0xff53_4d42 => "CIFS",
        0xfe53_4d42 => "SMB2",
        0x0102_1997 => "9p",
        0x6573_5546 => "FUSE",
        0x5346_414f | 0x6b41_4653 => "AFS",
        0x7375_7245 => "Coda",
        0x00c3_6400 => "Ceph",
        0x0bd0_0bd0 => "Lustre",
        _ => return None,
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_told_from_local_ones() {
        assert_eq!(network_file_system(Path::new("/proc")), None);
        assert_eq!(network_file_system(Path::new("/nowhere/at/all")), None);
        assert_eq!(name(0x6969), Some("NFS"));
        // ext4, tmpfs, overlayfs, btrfs, xfs
        for local in [0xef53, 0x0102_1994, 0x794c_7630, 0x9123_683e, 0x5846_5342] {
            assert_eq!(name(local), None);
        }
    }
}
