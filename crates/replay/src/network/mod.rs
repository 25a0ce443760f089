//! How messages get from node to node when they are in each other's way.
//!
//! Without that, what a message takes is known when it leaves, and the replay needs no network at all. With it, messages begin and end in
//! the order of time: the replay lets them [`begin`](Network::begin), and the network says what has arrived.

/// A message under way, by a number that the replay gave it.
pub type Flow = u32;

/// Something that messages go through, where they share what there is.
pub trait Network {
    /// A message leaves; moments never go back, neither here nor before what [`advance`](Network::advance) has come to.
    fn begin(&mut self, at_s: f64, flow: Flow, transfer: Transfer);

    /// When something happens next if nothing else begins.
    fn next(&self) -> Option<f64>;

    /// Goes on to the moment of [`next`](Network::next), and says which messages have arrived by then.
    fn advance(&mut self, arrived: &mut Vec<Flow>);
}

/// A message from node to node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// The node it leaves, by number from 0.
    pub from: u32,
    /// The node it goes to.
    pub to: u32,
    /// How large it is.
    pub bytes: f64,
    /// What it takes besides its bytes, even when it is alone: the ends, software, protocol. The links of the route add theirs.
    pub latency_s: f64,
    /// What each byte takes at least, whatever the links could do: no single message is faster.
    pub least_s_per_byte: f64,
}
