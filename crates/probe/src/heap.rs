//! Memory of the probe, apart from that of the program.
//!
//! A signal handler of the program can jump out of the probe at any instruction. If that one is inside `malloc`, its lock is never
//! released, and the program stops at its next allocation. So the probe has a heap of its own, without locks: what a jump leaves behind is
//! at most a block that is never used again.

use std::alloc::{GlobalAlloc, Layout};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::block_region::map;
use crate::perf_event::PAGE_BYTES;

#[global_allocator]
static HEAP: LockFreeHeap = LockFreeHeap::new();

/// Sizes of blocks are powers of two, from this one on.
const SMALLEST_BYTES: usize = 16;
const SIZE_CLASSES: usize = 12;
/// Larger ones are mapped on their own.
const LARGEST_BYTES: usize = SMALLEST_BYTES << (SIZE_CLASSES - 1);
/// Blocks are cut from chunks of this size, which are aligned to it and never returned.
const CHUNK_BYTES: usize = 256 << 10;

/// A heap whose blocks can be allocated and freed by all threads, in signal handlers, and in forked children.
struct LockFreeHeap {
    /// Free blocks of each size.
    free: [FreeList; SIZE_CLASSES],
    /// Where the unused part of the current chunk begins; a multiple of the chunk's size if nothing of it is left.
    unused: AtomicUsize,
}

impl LockFreeHeap {
    const fn new() -> LockFreeHeap {
        LockFreeHeap { free: [const { FreeList::new() }; SIZE_CLASSES], unused: AtomicUsize::new(0) }
    }

    /// Cuts a block of a chunk; null if there is no memory.
    fn cut(&self, bytes: usize) -> *mut u8 {
        loop {
            let unused = self.unused.load(Ordering::Relaxed);
            let start = unused.next_multiple_of(bytes);
            let is_inside = !unused.is_multiple_of(CHUNK_BYTES) && start + bytes <= unused.next_multiple_of(CHUNK_BYTES);
            let replace = |start: usize| self.unused.compare_exchange(unused, start + bytes, Ordering::Relaxed, Ordering::Relaxed).is_ok();
            if is_inside {
                if replace(start) {
                    return start as *mut u8;
                }
                continue;
            }
            let Some(chunk) = map_chunk() else { return null_mut() };
            if replace(chunk) {
                return chunk as *mut u8;
            }
            unmap(chunk, CHUNK_BYTES);
        }
    }
}

// SAFETY: blocks are as large as asked for, aligned to their size or to a page, and belong to one owner at a time.
unsafe impl GlobalAlloc for LockFreeHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match size_class(layout) {
            Some(class) => match self.free[class].pop() {
                0 => self.cut(SMALLEST_BYTES << class),
                block => block as *mut u8,
            },
            // A mapping is aligned to a page. Nothing in the probe needs more.
            None if layout.align() > PAGE_BYTES => null_mut(),
            None => map(layout.size(), libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1).unwrap_or(null_mut()),
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match size_class(layout) {
            Some(class) => self.free[class].push(block as usize),
            None => unmap(block as usize, layout.size()),
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller guarantees that the size does not overflow when it is rounded up to the alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) };
        if size_class(wanted).is_some_and(|class| Some(class) == size_class(layout)) {
            return block;
        }
        // SAFETY: as the caller guarantees; both blocks have this many bytes, and they are different ones.
        unsafe {
            let moved = self.alloc(wanted);
            if !moved.is_null() {
                std::ptr::copy_nonoverlapping(block, moved, layout.size().min(bytes));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

/// The size class of a block; `None` if it is mapped on its own.
fn size_class(layout: Layout) -> Option<usize> {
    let bytes = layout.size().max(layout.align()).max(SMALLEST_BYTES);
    (bytes <= LARGEST_BYTES).then(|| (bytes.next_power_of_two() / SMALLEST_BYTES).trailing_zeros() as usize)
}

/// Free blocks of one size, each with the address of the next one in its first word.
struct FreeList {
    /// The address of the first block, divided by the smallest size; above it a number that changes with every operation, so that a block
    /// that was taken and returned meanwhile is not mistaken for the one that was seen.
    head: AtomicU64,
}

/// Addresses of a program have 47 bits.
const ADDRESS_BITS: u32 = 47 - SMALLEST_BYTES.trailing_zeros();

impl FreeList {
    const fn new() -> FreeList {
        FreeList { head: AtomicU64::new(0) }
    }

    fn address(head: u64) -> usize {
        (head & ((1 << ADDRESS_BITS) - 1)) as usize * SMALLEST_BYTES
    }

    fn next_head(head: u64, address: usize) -> u64 {
        ((head >> ADDRESS_BITS).wrapping_add(1) << ADDRESS_BITS) | (address / SMALLEST_BYTES) as u64
    }

    /// Takes a block; 0 if there is none.
    fn pop(&self) -> usize {
        let mut head = self.head.load(Ordering::Acquire);
        while FreeList::address(head) != 0 {
            // SAFETY: a block of a chunk, which stays mapped. If another thread has it by now, the value is not used.
            let next = unsafe { &*(FreeList::address(head) as *const AtomicUsize) }.load(Ordering::Relaxed);
            match self.head.compare_exchange_weak(head, FreeList::next_head(head, next), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return FreeList::address(head),
                Err(changed) => head = changed,
            }
        }
        0
    }

    fn push(&self, block: usize) {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            // SAFETY: the block is free, and has room for a word.
            unsafe { &*(block as *const AtomicUsize) }.store(FreeList::address(head), Ordering::Relaxed);
            match self.head.compare_exchange_weak(head, FreeList::next_head(head, block), Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(changed) => head = changed,
            }
        }
    }
}

/// Maps a chunk, aligned to its size.
fn map_chunk() -> Option<usize> {
    let mapped = map(2 * CHUNK_BYTES, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)? as usize;
    let chunk = mapped.next_multiple_of(CHUNK_BYTES);
    let (before, after) = (chunk - mapped, mapped + CHUNK_BYTES - chunk);
    unmap(mapped, before);
    unmap(chunk + CHUNK_BYTES, after);
    Some(chunk)
}

fn unmap(address: usize, bytes: usize) {
    if bytes > 0 {
        // SAFETY: memory of this heap, which nothing refers to any more.
        unsafe { libc::munmap(address as *mut libc::c_void, bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block that is filled with one byte.
    struct FilledBlock<'a> {
        heap: &'a LockFreeHeap,
        layout: Layout,
        block: *mut u8,
        byte: u8,
    }

    impl FilledBlock<'_> {
        fn new(heap: &LockFreeHeap, bytes: usize, align: usize, byte: u8) -> FilledBlock<'_> {
            let layout = Layout::from_size_align(bytes, align).unwrap();
            // SAFETY: the size is not zero; the block has this many bytes.
            let block = unsafe { heap.alloc(layout) };
            assert!(!block.is_null() && (block as usize).is_multiple_of(align));
            // SAFETY: as above.
            unsafe { block.write_bytes(byte, bytes) };
            FilledBlock { heap, layout, block, byte }
        }

        fn resize(&mut self, bytes: usize) {
            let kept = self.layout.size().min(bytes);
            // SAFETY: a block of this layout; after that, as many bytes as before are initialised.
            let all = unsafe {
                self.block = self.heap.realloc(self.block, self.layout, bytes);
                std::slice::from_raw_parts(self.block, kept)
            };
            assert!(all.iter().all(|byte| *byte == self.byte));
            self.layout = Layout::from_size_align(bytes, self.layout.align()).unwrap();
            // SAFETY: the block has this many bytes.
            unsafe { self.block.write_bytes(self.byte, bytes) };
        }
    }

    impl Drop for FilledBlock<'_> {
        fn drop(&mut self) {
            // SAFETY: the block is initialised, and not used any more.
            unsafe {
                let all = std::slice::from_raw_parts(self.block, self.layout.size());
                assert!(all.iter().all(|byte| *byte == self.byte), "somebody else has written to the block");
                self.heap.dealloc(self.block, self.layout);
            }
        }
    }

    #[test]
    fn blocks_of_several_threads_do_not_overlap() {
        let heap = LockFreeHeap::new();
        std::thread::scope(|scope| {
            for thread in 1..=4 {
                let heap = &heap;
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(thread);
                    let mut blocks: Vec<FilledBlock> = Vec::new();
                    for _ in 0..20_000 {
                        let bits = random.u32(1..17);
                        let bytes = random.usize(1..1 << bits);
                        let chosen = random.usize(..=blocks.len());
                        match random.u32(0..5) {
                            0..2 => blocks.push(FilledBlock::new(heap, bytes, 1 << random.u32(0..7), thread as u8)),
                            _ if chosen == blocks.len() => {}
                            2 => blocks[chosen].resize(bytes),
                            _ => drop(blocks.swap_remove(chosen)),
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn a_large_block_has_no_greater_alignment_than_a_page() {
        let heap = LockFreeHeap::new();
        let layout = |align| Layout::from_size_align(2 * LARGEST_BYTES, align).unwrap();
        drop(FilledBlock::new(&heap, 2 * LARGEST_BYTES, PAGE_BYTES, 1));
        // SAFETY: the size is not zero.
        assert!(unsafe { heap.alloc(layout(2 * PAGE_BYTES)) }.is_null());
    }

    #[test]
    fn a_freed_block_is_used_again_and_a_chunk_is_used_up() {
        let heap = LockFreeHeap::new();
        let first = FilledBlock::new(&heap, 100, 8, 1);
        let address = first.block;
        drop(first);
        let again = FilledBlock::new(&heap, 128, 8, 2);
        assert_eq!(again.block, address);
        let halves: Vec<FilledBlock> = (0..8).map(|byte| FilledBlock::new(&heap, LARGEST_BYTES, 1, byte)).collect();
        let chunks: std::collections::BTreeSet<usize> = halves.iter().map(|block| block.block as usize / CHUNK_BYTES).collect();
        assert_eq!(chunks.len(), 2, "seven blocks of 32 KiB behind the small one, and one in the next chunk");
    }
}
