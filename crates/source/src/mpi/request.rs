//! Persistent and partitioned requests.

use super::calls::MpiCall;
use super::executor::SymbolicExecutor;
use super::process_step::{MessageEnd, ProcessStep};
use super::value::{PersistentRequest, SymbolicValue};

/// The maximum number of requests of one `MPI_Startall`.
const MAX_STARTED: i64 = 256;

impl SymbolicExecutor<'_, '_> {
    /// A call that creates or starts a request.
    pub(super) fn request_call(&mut self, call: &MpiCall) -> bool {
        match call.name {
            "Send_init" | "Bsend_init" | "Ssend_init" | "Rsend_init" => self.init_request(call, true, [1, 2, 3, 5], None, 6),
            "Recv_init" => self.init_request(call, false, [1, 2, 3, 5], None, 6),
            "Psend_init" => self.init_request(call, true, [2, 3, 4, 6], Some(1), 8),
            "Precv_init" => self.init_request(call, false, [2, 3, 4, 6], Some(1), 8),
            "Start" => self.start_request(call, call.values.first().cloned()),
            "Startall" => self.start_all_requests(call),
            // A partition is sent when its message is started, as far as the model is concerned.
            "Pready" | "Pready_range" | "Pready_list" => {}
            "Parrived" => self.write_argument(call, 2, SymbolicValue::Unknown),
            "Wait" | "Waitall" | "Waitany" | "Waitsome" | "Test" | "Testall" | "Testany" | "Testsome" => self.complete_requests(call),
            _ => return false,
        }
        true
    }

    /// `parts` is the argument position of the number of partitions.
    fn init_request(&mut self, call: &MpiCall, is_sent: bool, at: [usize; 4], parts: Option<usize>, request: usize) {
        let mut message = self.message_end(call, is_sent, at);
        if let (Some(message), Some(parts)) = (&mut message, parts) {
            message.bytes = &message.bytes * &self.number_at(call, parts, "count");
        }
        let buffer = match call.values.first() {
            Some(SymbolicValue::Address(address)) if !is_sent => Some(address.clone()),
            _ => None,
        };
        self.write_argument(call, request, SymbolicValue::Request(PersistentRequest { message, buffer }));
    }

    fn start_all_requests(&mut self, call: &MpiCall) {
        let count = call.values.first().and_then(SymbolicValue::number).and_then(|count| count.as_exact()?.to_i64());
        let (Some(count), Some(SymbolicValue::Address(first))) = (count.filter(|count| *count <= MAX_STARTED), call.values.get(1)) else {
            return self.note_uncounted(call, "the number of requests started here is unknown; their messages are not counted");
        };
        for at in 0..count {
            self.start_request(call, first.offset_by(at).map(SymbolicValue::Address));
        }
    }

    fn start_request(&mut self, call: &MpiCall, request: Option<SymbolicValue>) {
        let request = match request {
            Some(SymbolicValue::Address(address)) => self.store.get(&address),
            _ => SymbolicValue::Unknown,
        };
        let SymbolicValue::Request(PersistentRequest { message, buffer }) = request else {
            return self.note_uncounted(call, "the message started here is unknown; it is not counted");
        };
        if let Some(buffer) = buffer {
            self.store.set(&buffer, SymbolicValue::Unknown);
        }
        if let Some(message) = message {
            self.emit(ProcessStep::Message(MessageEnd { pos: call.pos.clone(), ..message }));
        }
    }

    fn note_uncounted(&mut self, call: &MpiCall, why: &str) {
        if !self.is_silent() {
            self.note(call.pos, why);
        }
    }

    /// Completion calls make their outputs unknown, but persistent requests stay.
    fn complete_requests(&mut self, call: &MpiCall) {
        for value in &call.values {
            if let SymbolicValue::Address(address) = value
                && !matches!(self.store.get(address), SymbolicValue::Request(_))
            {
                self.store.set(address, SymbolicValue::Unknown);
            }
        }
    }
}
