//! From any call of the recording to its node in the program graph.
//!
//! The same place can be several nodes, so whoever asks goes along with the rank's calls, and is told where the rank is.

use std::collections::HashMap;

use sintonia_recording::table::Call;

use super::context::{Context, Contexts, Key, Parts};
use super::ground::{Ground, Position};
use super::walk::{LocalNode, RankWalk};

/// Everything that is needed to find the node of a call.
#[derive(Debug, Default)]
pub struct Atlas {
    ground: Ground,
    contexts: Contexts,
    /// For each thread of each rank the context of each piece of its way.
    pieces: HashMap<(u32, u16), Vec<Context>>,
    /// The number of each node.
    numbers: HashMap<Key, usize>,
}

impl Atlas {
    /// What the ways of the ranks say of the parts of the program; the nodes are not numbered yet.
    pub fn of(ground: Ground, walked: &[(RankWalk, Vec<LocalNode>)]) -> Atlas {
        let threads = walked.iter().flat_map(|(walk, nodes)| walk.threads.iter().map(move |thread| (walk.rank, thread, nodes)));
        let parts: Vec<((u32, u16), Parts)> =
            threads.map(|(rank, thread, nodes)| ((rank, thread.thread), Parts::of(&thread.pieces(nodes)))).collect();
        let contexts = Contexts::of(parts.iter().map(|(_, parts)| parts));
        let pieces = parts.iter().map(|(thread, parts)| (*thread, contexts.of_pieces(parts))).collect();
        Atlas { ground, contexts, pieces, numbers: HashMap::new() }
    }

    /// The node that a rank knows under a name of its own.
    pub fn key(&self, rank: u32, local: &LocalNode) -> Key {
        let context = self.context(rank, local.thread, local.piece);
        self.contexts.key(local.spot, context)
    }

    /// Numbers the nodes as they stand in this list.
    pub fn number(&mut self, keys: &[Key]) {
        self.numbers = keys.iter().enumerate().map(|(number, key)| (*key, number)).collect();
    }

    /// The ground that the ranks stand on.
    pub fn ground(&self) -> &Ground {
        &self.ground
    }

    /// Goes along with a rank.
    pub fn along(&self, rank: u32) -> Along<'_> {
        Along { atlas: self, rank, threads: HashMap::new() }
    }

    fn context(&self, rank: u32, thread: u16, piece: usize) -> Context {
        self.pieces.get(&(rank, thread)).and_then(|pieces| pieces.get(piece)).copied().unwrap_or(Context::Start)
    }
}

/// Says of each call of a rank, in the order in which they ended, which node of the program graph it is at.
pub struct Along<'a> {
    atlas: &'a Atlas,
    rank: u32,
    /// For each thread how far it is, and in which context.
    threads: HashMap<u16, (Position, Context)>,
}

impl Along<'_> {
    /// The node of the next call.
    pub fn node(&mut self, call: &Call) -> Option<usize> {
        let atlas = self.atlas;
        let spot = atlas.ground.spot(call)?;
        let context = |piece| atlas.context(self.rank, call.thread, piece);
        let (position, here) = self.threads.entry(call.thread).or_insert_with(|| (Position::default(), context(0)));
        if position.advance(spot, &atlas.ground) {
            *here = context(position.piece);
        }
        atlas.numbers.get(&atlas.contexts.key(spot, *here)).copied()
    }
}
