//! Tests of `server.rs`.

use super::{
    CONNECTIONS_MAX, REQUEST_BYTES_MAX, SILENCE_LIMIT, Stream, answer_all, converse, may_look,
    serve_at,
};
use manyhands_wire::{End, Hello, Line};
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::net::Shutdown;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// What a connection says to these bytes, after which this end says nothing more.
fn answers(request: &[u8], is_allowed: bool) -> Vec<String> {
    let (here, there) = Stream::pair().unwrap();
    let server = thread::spawn(move || drop(converse(&there, |_| is_allowed)));
    here.set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    // It may have been refused already.
    let _ = (&here).write_all(request);
    let _ = here.shutdown(Shutdown::Write);
    // What was refused may be reset once its answer is read.
    let lines = BufReader::new(&here).lines().map_while(Result::ok);
    let lines = lines.collect();
    server.join().unwrap();
    lines
}

fn read(line: &str) -> Line {
    serde_json_wasm::from_str(line).unwrap()
}

fn error_of(line: &str) -> String {
    match read(line) {
        Line::Error(refusal) => refusal.code,
        other => panic!("{other:?}"),
    }
}

/// What a line is the end of.
fn end_of(line: &str) -> Option<String> {
    match read(line) {
        Line::End(End { end, .. }) => Some(end),
        _ => None,
    }
}

#[test]
fn a_process_of_another_user_is_refused_before_it_is_asked_for_anything() {
    let lines = answers(b"{\"get\":\"snapshot\"}\n", false);
    assert_eq!(lines.len(), 1);
    assert_eq!(error_of(&lines[0]), "refused");
}

#[test]
fn the_same_user_and_root_may_look_and_no_other() {
    let cases = [
        (7, 7, true),
        (0, 7, true),
        (7, 0, false),
        (8, 7, false),
        (0, 0, true),
    ];
    for (user, own, may) in cases {
        assert_eq!(may_look(user, own), may, "{user} at {own}");
    }
}

#[test]
fn a_connection_says_what_it_is_and_answers_one_request_after_the_other() {
    let lines = answers(
        b"{\"get\":\"snapshot\",\"tasks_max\":0}\n{\"get\":\"deadlocks\"}\n",
        true,
    );
    let hello = Hello {
        manyhands_inspect: 1,
        process: std::process::id(),
        library: env!("CARGO_PKG_VERSION").to_owned(),
    };
    assert!(matches!(read(&lines[0]), Line::Hello(said) if said == hello));
    let ends: Vec<_> = lines.iter().filter_map(|line| end_of(line)).collect();
    assert_eq!(ends, ["snapshot", "deadlocks"]);
}

#[test]
fn bad_requests_get_an_error_and_the_connection_goes_on() {
    let lines = answers(
        b"what\n[]\n{}\n{\"get\":\"all\"}\n{\"freeze\":1}\n{\"get\":\"snapshot\",\"tasks_max\":\"x\"}\n\
          {\"get\":\"snapshot\",\"tasks_max\":0}\n",
        true,
    );
    let codes: Vec<_> = lines[1..7].iter().map(|line| error_of(line)).collect();
    assert_eq!(
        codes,
        [
            "malformed",
            "malformed",
            "unknown_request",
            "unknown_request",
            "unknown_request",
            "malformed"
        ]
    );
    assert_eq!(end_of(lines.last().unwrap()).unwrap(), "snapshot");
}

#[test]
fn a_poll_is_refused_where_the_program_has_not_allowed_it_and_is_asked_for_by_a_text() {
    let requests = b"{\"poll\":\"1\"}\n{\"poll\":1}\n{\"get\":\"snapshot\",\"tasks_max\":0}\n";
    let lines = answers(requests, true);
    let codes: Vec<_> = lines[1..3].iter().map(|line| error_of(line)).collect();
    assert_eq!(codes, ["not_allowed", "malformed"]);
    assert_eq!(end_of(lines.last().unwrap()).unwrap(), "snapshot");
}

#[test]
fn a_client_that_stays_and_says_nothing_is_left_when_its_time_is_over() {
    let (_client, stream) = Stream::pair().unwrap();
    converse(&stream, |_| false).unwrap();
    let limits = [stream.read_timeout(), stream.write_timeout()].map(Result::unwrap);
    assert_eq!(limits, [Some(SILENCE_LIMIT); 2]);
    // The system keeps the time, so the limit is shortened.
    let short = Some(Duration::from_millis(1));
    stream.set_read_timeout(short).unwrap();
    let ended = answer_all(&stream, BufWriter::new(&stream));
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::WouldBlock);
}

/// A client that takes nothing, with how often it was offered something.
struct TakesNothing<'a>(&'a mut u32);

impl Write for TakesNothing<'_> {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        *self.0 += 1;
        Err(ErrorKind::WouldBlock.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_client_that_takes_nothing_is_left_when_its_time_is_over_once() {
    let (client, stream) = Stream::pair().unwrap();
    (&client).write_all(b"{}\n").unwrap();
    let mut offered = 0;
    let ended = answer_all(&stream, BufWriter::new(TakesNothing(&mut offered)));
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(offered, 1);
}

/// The first line of a new connection there.
fn first_line(path: &Path) -> (Stream, String) {
    let stream = Stream::connect(path).unwrap();
    let limit = Some(Duration::from_secs(60));
    stream.set_read_timeout(limit).unwrap();
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).unwrap();
    (stream, line)
}

#[test]
fn each_socket_has_places_of_its_own() {
    let folder = std::env::temp_dir().join(format!("manyhands-places-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let [one, other] = ["1.sock", "2.sock"].map(|name| folder.join(name));
    let sockets = [&one, &other].map(serve_at).map(Result::ok);
    assert_eq!(sockets, [Some(()); 2]);
    let held: Vec<_> = (0..CONNECTIONS_MAX).map(|_| first_line(&one)).collect();
    assert!(
        held.iter()
            .all(|(_, line)| line.contains("manyhands_inspect"))
    );
    assert_eq!(error_of(&first_line(&one).1), "busy");
    assert!(first_line(&other).1.contains("manyhands_inspect"));
    drop(held);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_request_of_many_opened_brackets_is_refused_and_the_connection_goes_on() {
    let size = usize::try_from(REQUEST_BYTES_MAX).unwrap();
    for bracket in ["[", "{\"x\":"] {
        let mut request = b"{\"get\":\"snapshot\",\"deep\":".to_vec();
        while request.len() + bracket.len() < size {
            request.extend(bracket.as_bytes());
        }
        request.extend(b"\n{\"get\":\"snapshot\",\"tasks_max\":0}\n");
        let lines = answers(&request, true);
        assert_eq!(error_of(&lines[1]), "malformed");
        assert_eq!(end_of(lines.last().unwrap()).unwrap(), "snapshot");
    }
}

#[test]
fn an_oversized_request_is_refused_and_ends_the_connection() {
    let size = usize::try_from(REQUEST_BYTES_MAX).unwrap();
    let mut fits = vec![b' '; size - 1];
    fits.push(b'\n');
    assert_eq!(error_of(&answers(&fits, true)[1]), "malformed");
    let too_long = vec![b' '; size + 1];
    let lines = answers(&too_long, true);
    assert_eq!(
        (lines.len(), error_of(&lines[1])),
        (2, "oversized".to_owned())
    );
    let unfinished = answers(b"{\"get\":\"snapshot\"}", true);
    assert_eq!(
        (unfinished.len(), error_of(&unfinished[1])),
        (2, "malformed".to_owned())
    );
}
