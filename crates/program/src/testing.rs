//! Process groups for tests: an analysis by several processes must find what one process finds.

use std::sync::{Barrier, Mutex};

use crate::process_group::ProcessGroup;

/// Threads that act as the processes of a group.
struct ThreadGroup {
    mailboxes: Vec<Mutex<Vec<Vec<u8>>>>,
    barrier: Barrier,
}

/// One of the threads.
struct ThreadGroupMember<'a> {
    group: &'a ThreadGroup,
    index: usize,
}

impl ProcessGroup for ThreadGroupMember<'_> {
    fn size(&self) -> usize {
        self.group.mailboxes.len()
    }

    fn own_index(&self) -> usize {
        self.index
    }

    fn all_to_all_bytes(&self, buffers: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        *self.group.mailboxes[self.index].lock().unwrap() = buffers;
        self.group.barrier.wait();
        let received = self.group.mailboxes.iter().map(|mailbox| mailbox.lock().unwrap()[self.index].clone()).collect();
        self.group.barrier.wait();
        received
    }
}

/// The results of each process of a group of this size.
pub fn run_in_group<T: Send>(size: usize, analyse: impl Fn(&dyn ProcessGroup) -> T + Sync) -> Vec<T> {
    let group = ThreadGroup { mailboxes: (0..size).map(|_| Mutex::default()).collect(), barrier: Barrier::new(size) };
    let (group, analyse) = (&group, &analyse);
    std::thread::scope(|scope| {
        let start = |index| scope.spawn(move || analyse(&ThreadGroupMember { group, index }));
        let threads: Vec<_> = (0..size).map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}
