//! Answers to the request that asks for brokers and topics, forged.

/// What a broker answers that is just back, and that the controller has not let in yet: there are no brokers, and so there
/// is no controller. `frame` is an answer of this version; its topics stay as they are.
pub(crate) fn without_brokers(frame: &[u8], version: i16) -> Vec<u8> {
    assert!(version >= 9, "older ones are written another way");
    let mut read = Cursor { frame, at: 0 };
    // The request's number, and how long to be throttled.
    read.pass(4);
    read.tags();
    read.pass(4);
    let mut forged = frame[..read.at].to_owned();
    for _ in 1..read.number() {
        // Number, host, port, rack.
        read.pass(4);
        read.text();
        read.pass(4);
        read.text();
        read.tags();
    }
    // Lengths are written with one added to them.
    forged.push(1);
    let cluster = read.at;
    read.text();
    forged.extend_from_slice(&frame[cluster..read.at]);
    read.pass(4);
    forged.extend_from_slice(&(-1_i32).to_be_bytes());
    forged.extend_from_slice(&frame[read.at..]);
    forged
}

/// A place in a message.
struct Cursor<'f> {
    frame: &'f [u8],
    at: usize,
}

impl Cursor<'_> {
    fn pass(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Seven bits to a byte, the lowest first.
    fn number(&mut self) -> usize {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let byte = self.frame[self.at];
            self.pass(1);
            number |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        number
    }

    fn text(&mut self) {
        let length = self.number();
        self.pass(length.saturating_sub(1));
    }

    fn tags(&mut self) {
        assert_eq!(self.number(), 0, "brokers send none");
    }
}
