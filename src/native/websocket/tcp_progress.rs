//! Reads the number of bytes of a TCP connection that the system of the peer has received.
//!
//! The send buffer of this system can contain megabytes. A full send buffer has room again only after the peer has
//! received a third of its content. So a peer that reads slowly would seem silent for minutes. Linux reports the
//! progress of a connection by `sock_diag(7)`.

use std::net::SocketAddr;

/// Reads the progress of one connection.
#[derive(Debug)]
pub(super) struct TcpProgress {
    #[cfg_attr(not(any(target_os = "android", target_os = "linux")), expect(dead_code, reason = "used on Linux"))]
    local: SocketAddr,
    #[cfg_attr(not(any(target_os = "android", target_os = "linux")), expect(dead_code, reason = "used on Linux"))]
    remote: SocketAddr,
}

/// The progress at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Taken {
    /// The number of bytes that the system of the peer has acknowledged since the connection was opened.
    pub(super) bytes: u64,
    /// Whether bytes were not sent yet, because the buffer of the peer or the network had no room.
    pub(super) has_more: bool,
}

impl TcpProgress {
    pub(super) const fn new(local: SocketAddr, remote: SocketAddr) -> Self {
        Self { local, remote }
    }

    /// Returns the progress. Returns `None` if the system does not report it.
    #[cfg(not(any(target_os = "android", target_os = "linux")))]
    pub(super) const fn taken(&self) -> Option<Taken> {
        None
    }

    /// Returns the progress. Returns `None` if the system does not report it.
    #[cfg(any(target_os = "android", target_os = "linux"))]
    pub(super) fn taken(&self) -> Option<Taken> {
        linux::tcp_info(self.local, self.remote).as_deref().and_then(linux::parse_tcp_info)
    }
}

/// Messages of `sock_diag(7)`, with the structures of `linux/netlink.h`, `linux/inet_diag.h` and `linux/tcp.h`.
#[cfg(any(target_os = "android", target_os = "linux"))]
mod linux {
    use std::net::{IpAddr, SocketAddr};

    use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};

    use super::Taken;

    const SOCK_DIAG_BY_FAMILY: u16 = 20;
    const NLM_F_REQUEST: u16 = 1;
    const IPPROTO_TCP: u8 = 6;
    /// The attribute with the `tcp_info`.
    const INET_DIAG_INFO: u16 = 2;
    const INET_DIAG_NOCOOKIE: u64 = u64::MAX;

    /// The lengths of `nlmsghdr`, `inet_diag_req_v2`, `inet_diag_msg`, and of the header of an attribute, in bytes.
    const HEADER_BYTES: usize = 16;
    const REQUEST_BYTES: usize = 56;
    const MESSAGE_BYTES: usize = 72;
    const ATTRIBUTE_BYTES: usize = 4;

    /// The offsets of `tcpi_bytes_acked` and `tcpi_notsent_bytes`.
    const ACKNOWLEDGED: usize = 120;
    const UNSENT: usize = 144;

    /// Returns the `tcp_info` of a connection in the network namespace of this process.
    pub(super) fn tcp_info(local: SocketAddr, remote: SocketAddr) -> Option<Vec<u8>> {
        let socket =
            socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG));
        let socket = socket.ok()?;
        send(&socket, &request(local, remote), SendFlags::empty()).ok()?;
        // The kernel has answered when `send` returns.
        let mut response = [0; 1024];
        let (length, _) = recv(&socket, &mut response, RecvFlags::DONTWAIT).ok()?;
        let response = response.get(..length)?;
        if ne_u16(response, 4)? != SOCK_DIAG_BY_FAMILY {
            return None;
        }
        let mut attributes = response.get(HEADER_BYTES + MESSAGE_BYTES..)?;
        loop {
            let length = usize::from(ne_u16(attributes, 0)?);
            if ne_u16(attributes, 2)? == INET_DIAG_INFO {
                return attributes.get(ATTRIBUTE_BYTES..length).map(<[u8]>::to_vec);
            }
            attributes = attributes.get(length.max(ATTRIBUTE_BYTES).next_multiple_of(4)..)?;
        }
    }

    /// Returns a request for the `tcp_info` of one connection.
    fn request(local: SocketAddr, remote: SocketAddr) -> Vec<u8> {
        let family = if local.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let interface = if let SocketAddr::V6(local) = local { local.scope_id() } else { 0 };
        let mut request = Vec::with_capacity(HEADER_BYTES + REQUEST_BYTES);
        request.extend(((HEADER_BYTES + REQUEST_BYTES) as u32).to_ne_bytes());
        request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        request.extend(NLM_F_REQUEST.to_ne_bytes());
        // The number of the request is 0. The address of the receiver is also 0, which is the address of the kernel.
        request.extend([0; 8]);
        request.extend([family.as_raw() as u8, IPPROTO_TCP, 1 << (INET_DIAG_INFO - 1), 0]);
        // The state of the connection may be any state.
        request.extend(u32::MAX.to_ne_bytes());
        request.extend(local.port().to_be_bytes());
        request.extend(remote.port().to_be_bytes());
        request.extend(sixteen_bytes(local.ip()));
        request.extend(sixteen_bytes(remote.ip()));
        request.extend(interface.to_ne_bytes());
        request.extend(INET_DIAG_NOCOOKIE.to_ne_bytes());
        request
    }

    fn sixteen_bytes(address: IpAddr) -> [u8; 16] {
        match address {
            IpAddr::V4(address) => {
                let [a, b, c, d] = address.octets();
                [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
            }
            IpAddr::V6(address) => address.octets(),
        }
    }

    /// Reads a `tcp_info`. Returns `None` if an old kernel has sent a shorter structure.
    pub(super) fn parse_tcp_info(info: &[u8]) -> Option<Taken> {
        let bytes = info.get(ACKNOWLEDGED..)?.first_chunk().copied().map(u64::from_ne_bytes)?;
        let unsent = info.get(UNSENT..)?.first_chunk().copied().map(u32::from_ne_bytes)?;
        Some(Taken { bytes, has_more: unsent > 0 })
    }

    fn ne_u16(bytes: &[u8], offset: usize) -> Option<u16> {
        bytes.get(offset..)?.first_chunk().copied().map(u16::from_ne_bytes)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{self, Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::thread::sleep;
    use std::time::Duration;

    use super::{Taken, TcpProgress};

    /// Returns the first progress with this property.
    fn wait(progress: &TcpProgress, is_wanted: impl Fn(Taken) -> bool) -> Taken {
        loop {
            if let Some(taken) = progress.taken().filter(|taken| is_wanted(*taken)) {
                return taken;
            }
            sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn the_progress_shows_whether_the_peer_takes_bytes() -> io::Result<()> {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let mut far = TcpStream::connect(listener.local_addr()?)?;
            let (mut near, remote) = listener.accept()?;
            let progress = TcpProgress::new(near.local_addr()?, remote);
            near.write_all(&[0; 1_000])?;
            wait(&progress, |taken| taken == Taken { bytes: 1_000, has_more: false });
            // The peer does not read, so both buffers fill.
            near.set_nonblocking(true)?;
            let mut written = 1_000;
            while let Ok(count) = near.write(&[0; 65_536]) {
                written += count as u64;
            }
            let full = wait(&progress, |taken| taken.has_more);
            far.read_exact(&mut vec![0; 1_000_000])?;
            wait(&progress, |taken| taken.has_more && taken.bytes > full.bytes);
            far.read_exact(&mut vec![0; written as usize - 1_000_000])?;
            wait(&progress, |taken| taken == Taken { bytes: written, has_more: false });
        }
        Ok(())
    }

    #[test]
    fn an_unknown_connection_has_no_progress() -> Result<(), std::net::AddrParseError> {
        let (local, remote): (SocketAddr, SocketAddr) = ("127.0.0.1:1".parse()?, "127.0.0.1:2".parse()?);
        assert_eq!(TcpProgress::new(local, remote).taken(), None);
        Ok(())
    }
}
