//! Which user a process and the other end of a socket belong to.
//!
//! Unsafe: calls of the C library.

use crate::socket::Stream;
use std::io;

/// The user as whom this process acts.
pub fn own_user() -> u32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// The user of the process that has connected, as it was when it did.
///
/// # Errors
/// Those of the system.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn user_of(stream: &Stream) -> io::Result<u32> {
    use std::os::fd::AsRawFd;

    let mut credentials = libc::ucred {
        pid: 0,
        uid: u32::MAX,
        gid: u32::MAX,
    };
    let size = size_of::<libc::ucred>();
    let mut len = libc::socklen_t::try_from(size).unwrap_or(0);
    // SAFETY: the descriptor is open, and the pointers are to locals of the size that is passed.
    let failed = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &raw mut len,
        )
    };
    if failed == 0 && len as usize == size {
        Ok(credentials.uid)
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The user of the process that has connected, as it was when it did.
///
/// # Errors
/// Those of the system.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn user_of(stream: &Stream) -> io::Result<u32> {
    use std::os::fd::AsRawFd;

    let (mut user, mut group) = (u32::MAX, u32::MAX);
    // SAFETY: the descriptor is open, and the pointers are to locals.
    let failed = unsafe { libc::getpeereid(stream.as_raw_fd(), &raw mut user, &raw mut group) };
    if failed == 0 {
        Ok(user)
    } else {
        Err(io::Error::last_os_error())
    }
}
