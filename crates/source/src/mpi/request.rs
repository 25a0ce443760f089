//! Messages that are described once and sent again and again, whole or in parts.

use super::calls::Call;
use super::step::{Message, Step};
use super::value::{Address, Value};
use super::walk::Walk;

/// How many requests are started one by one.
const MOST_STARTED: i64 = 256;

/// What a request of this kind does when it is started.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    message: Option<Message>,
    /// Where what is received goes.
    buffer: Option<Address>,
}

impl Walk<'_, '_> {
    /// A call that describes a message, or starts what was described.
    pub(super) fn request(&mut self, call: &Call) -> bool {
        match call.name {
            "Send_init" | "Bsend_init" | "Ssend_init" | "Rsend_init" => self.describe(call, true, [1, 2, 3, 5], None, 6),
            "Recv_init" => self.describe(call, false, [1, 2, 3, 5], None, 6),
            "Psend_init" => self.describe(call, true, [2, 3, 4, 6], Some(1), 8),
            "Precv_init" => self.describe(call, false, [2, 3, 4, 6], Some(1), 8),
            "Start" => self.start(call, call.values.first().cloned()),
            "Startall" => self.start_all(call),
            // A part is on its way when its message is started, as far as a model goes.
            "Pready" | "Pready_range" | "Pready_list" => {}
            "Parrived" => self.give(call, 2, Value::Unknown),
            "Wait" | "Waitall" | "Waitany" | "Waitsome" | "Test" | "Testall" | "Testany" | "Testsome" => self.complete(call),
            _ => return false,
        }
        true
    }

    /// `parts` is the argument that says of how many parts a message is.
    fn describe(&mut self, call: &Call, is_sent: bool, at: [usize; 4], parts: Option<usize>, request: usize) {
        let mut message = self.envelope(call, is_sent, at);
        if let (Some(message), Some(parts)) = (&mut message, parts) {
            message.bytes = &message.bytes * &self.number_at(call, parts, "count");
        }
        let buffer = match call.values.first() {
            Some(Value::Address(address)) if !is_sent => Some(address.clone()),
            _ => None,
        };
        self.give(call, request, Value::Request(Request { message, buffer }));
    }

    fn start_all(&mut self, call: &Call) {
        let count = call.values.first().and_then(Value::number).and_then(|count| count.as_exact()?.to_i64());
        let (Some(count), Some(Value::Address(first))) = (count.filter(|count| *count <= MOST_STARTED), call.values.get(1)) else {
            return self.not_counted(call, "how many requests this starts cannot be told; their messages are not counted");
        };
        for at in 0..count {
            self.start(call, first.moved(at).map(Value::Address));
        }
    }

    fn start(&mut self, call: &Call, request: Option<Value>) {
        let request = match request {
            Some(Value::Address(address)) => self.store.get(&address),
            _ => Value::Unknown,
        };
        let Value::Request(Request { message, buffer }) = request else {
            return self.not_counted(call, "which message this starts cannot be told; it is not counted");
        };
        if let Some(buffer) = buffer {
            self.store.set(&buffer, Value::Unknown);
        }
        if let Some(message) = message {
            self.emit(Step::Message(Message { place: call.place.clone(), ..message }));
        }
    }

    fn not_counted(&mut self, call: &Call, why: &str) {
        if !self.is_silent() {
            self.note(call.place, why);
        }
    }

    /// Who waits learns nothing that can be known, but requests that can be started again stay.
    fn complete(&mut self, call: &Call) {
        for value in &call.values {
            if let Value::Address(address) = value
                && !matches!(self.store.get(address), Value::Request(_))
            {
                self.store.set(address, Value::Unknown);
            }
        }
    }
}
