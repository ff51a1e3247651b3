//! The connections of a client, so that one of them can be ended.

use std::{
    collections::BTreeMap,
    ffi::{c_int, c_void},
    ops::Bound,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::ear::ear;

/// The sockets that a client has open.
#[derive(Default)]
pub(super) struct Sockets(Mutex<Open>);

#[derive(Default)]
struct Open {
    sockets: BTreeMap<RawFd, OwnedFd>,
    /// That was ended last.
    last: RawFd,
}

impl Sockets {
    /// Ends a connection, another one each time, as a broker that goes away does.
    pub(super) fn end_one(&self) {
        let mut open = self.open();
        let behind = (Bound::Excluded(open.last), Bound::Unbounded);
        let next = open.sockets.range(behind).chain(&open.sockets).next();
        let Some((number, socket)) = next else { return };
        // SAFETY: the socket is open, and stays so while we have the lock. It may have no connection yet, or none any more.
        unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_RDWR) };
        open.last = *number;
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) unsafe extern "C" fn open_socket(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    opaque: *mut c_void,
) -> c_int {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let kind = kind | libc::SOCK_CLOEXEC;
    // SAFETY: any numbers may be asked for. What comes is an error, which is told, or a socket that is nobody else's.
    let socket = unsafe {
        let number = libc::socket(domain, kind, protocol);
        if number < 0 {
            return number;
        }
        OwnedFd::from_raw_fd(number)
    };
    let number = socket.as_raw_fd();
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    // SAFETY: the socket is open.
    unsafe {
        libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC);
    }
    // SAFETY: the opaque pointer is a client's.
    let sockets = unsafe { &ear(opaque).sockets };
    sockets.open().sockets.insert(number, socket);
    number
}

pub(super) unsafe extern "C" fn close_socket(number: c_int, opaque: *mut c_void) -> c_int {
    // SAFETY: the opaque pointer is a client's.
    let sockets = unsafe { &ear(opaque).sockets };
    // This closes it.
    sockets.open().sockets.remove(&number);
    0
}
