//! What the server and the helper process say to each other: one JSON line each, over a pair of
//! sockets. The first byte of a task carries the descriptors the programs get as their standard
//! input, output and error.
//!
//! The socket is also the life line: whichever side reads its end knows that the other is gone.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::Serialize;

use super::wire::{Ahead, Descriptors};

/// Sends what comes before everything else. Its length comes first, so that nothing is read that
/// descriptors come with.
pub(crate) fn send_ahead(mut socket: &UnixStream, ahead: &Ahead) -> io::Result<()> {
    let text = serde_json::to_vec(ahead)?;
    let length = u32::try_from(text.len()).map_err(io::Error::other)?;
    socket.write_all(&length.to_le_bytes())?;
    socket.write_all(&text)
}

/// The other side of [`send_ahead`].
pub(crate) fn receive_ahead(mut socket: &UnixStream) -> io::Result<Ahead> {
    let mut length = [0; 4];
    socket.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_le_bytes(length)).map_err(io::Error::other)?;
    let mut text = vec![0; length];
    socket.read_exact(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Sends the first byte of a task, with it the descriptors, and of `line` as much as there is room
/// for: that many bytes.
pub(crate) fn send_task(
    socket: &UnixStream,
    fds: [BorrowedFd<'_>; 3],
    line: &[u8],
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&fds));
    let bytes = [IoSlice::new(b"\n"), IoSlice::new(line)];
    Ok(sendmsg(socket, &bytes, &mut control, SendFlags::empty())?.saturating_sub(1))
}

/// The other side of [`send_task`].
pub(crate) fn receive_descriptors(socket: impl AsFd) -> io::Result<Descriptors> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::empty())?;
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            for fd in received {
                fcntl_setfd(&fd, FdFlags::CLOEXEC)?;
                fds.push(fd);
            }
        }
    }
    fds.try_into().map_err(|_| io::Error::other("the server did not send three descriptors"))
}

/// One message as a line.
pub(crate) fn line(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}
