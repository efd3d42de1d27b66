//! A connection over which each request has to come in time: whole, and after the answer to the one before has been taken. Bytes
//! that come or go one by one win no time, so a client that has frozen tasks holds them only as long as it asks.

use crate::sync::clock;
use std::cell::Cell;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The server's end.
#[derive(Debug)]
pub(super) struct InTime<'stream> {
    stream: &'stream UnixStream,
    limit: Duration,
    now: fn() -> Instant,
    /// When the time of the next request began.
    since: Cell<Instant>,
}

impl<'stream> InTime<'stream> {
    /// The first request has this long, from now.
    pub(super) fn new(stream: &'stream UnixStream, limit: Duration) -> Self {
        Self::by(clock::now, stream, limit)
    }

    /// By another clock.
    pub(super) fn by(now: fn() -> Instant, stream: &'stream UnixStream, limit: Duration) -> Self {
        Self {
            stream,
            limit,
            now,
            since: Cell::new(now()),
        }
    }

    /// A request is there: the time of the next one begins.
    pub(super) fn renew(&self) {
        self.since.set((self.now)());
    }

    fn left(&self) -> io::Result<Duration> {
        let gone = (self.now)().saturating_duration_since(self.since.get());
        let left = self.limit.checked_sub(gone).filter(|left| !left.is_zero());
        left.ok_or_else(|| ErrorKind::TimedOut.into())
    }
}

impl Read for &InTime<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut stream = self.stream;
        stream.set_read_timeout(Some(self.left()?))?;
        stream.read(buffer)
    }
}

impl Write for &InTime<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let mut stream = self.stream;
        stream.set_write_timeout(Some(self.left()?.min(WRITE_LIMIT)))?;
        stream.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How long a client may take nothing of an answer.
pub(super) const WRITE_LIMIT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::InTime;
    use crate::sync::clock;
    use std::cell::Cell;
    use std::io::{ErrorKind, Read, Write};
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    thread_local! {
        static GONE: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    /// A clock that stands still but for what was added here.
    fn now() -> Instant {
        clock::first() + GONE.get()
    }

    #[test]
    fn bytes_win_no_time_and_a_request_does() {
        let (mut client, stream) = UnixStream::pair().unwrap();
        client.write_all(&[b' '; 100]).unwrap();
        let in_time = InTime::by(now, &stream, Duration::from_secs(60));
        let connection = &mut &in_time;
        for _ in 0..3 {
            for _ in 0..5 {
                assert_eq!(connection.read(&mut [0]).unwrap(), 1);
                assert_eq!(connection.write(b" ").unwrap(), 1);
                GONE.set(GONE.get() + Duration::from_secs(12));
            }
            let late = ErrorKind::TimedOut;
            assert_eq!(connection.read(&mut [0]).unwrap_err().kind(), late);
            assert_eq!(connection.write(b" ").unwrap_err().kind(), late);
            in_time.renew();
        }
    }
}
