//! What the processes of a company tell each other on a walk: who sent, who came to a meeting, who entered a call that others need.

use std::collections::HashMap;

use bytemuck::{Pod, Zeroable};
use sintonia_recording::deed::Group;

use super::{At, History, Meeting};
use crate::company::Company;

/// News for and from other processes.
pub struct Post {
    /// Whether there is nobody to tell.
    pub alone: bool,
    /// Messages from elsewhere, by rank and thread of the sender and the place among what that sent.
    pub arrived: HashMap<(u32, u32, u32), i64>,
    /// What each process will be told.
    pub sent: Vec<Vec<News>>,
    here: usize,
    /// The first meeting of each group.
    groups: HashMap<Group, u32>,
}

impl Post {
    /// A post with nothing in it.
    pub fn new(history: &History, company: &dyn Company) -> Post {
        let first = history.meetings.iter().enumerate().rev().map(|(place, meeting)| (meeting.group, place as u32));
        Post {
            alone: company.size() == 1,
            arrived: HashMap::new(),
            sent: vec![Vec::new(); company.size()],
            here: company.here(),
            groups: first.collect(),
        }
    }

    /// Tells the process that looks after a rank, if that is another one.
    pub fn tell(&mut self, history: &History, rank: u32, news: News) {
        let owner = history.share.owner(rank);
        if !history.share.own().contains(&rank) {
            self.sent[owner].push(news);
        }
    }

    /// Tells all others.
    pub fn tell_all(&mut self, news: News) {
        let here = self.here;
        self.sent.iter_mut().enumerate().filter(|(process, _)| *process != here).for_each(|(_, sent)| sent.push(news));
    }

    /// The meeting that news are about, by place in the history; `None` if no rank of this process took part.
    pub fn meeting(&self, history: &History, news: &News) -> Option<u32> {
        let group = Group::from_words([news.at.rank, news.at.thread, news.at.row])?;
        let place = *self.groups.get(&group)? as usize + usize::try_from(news.number).ok()?;
        let meeting = history.meetings.get(place)?;
        ((meeting.group, meeting.number) == (group, news.number)).then_some(place as u32)
    }
}

/// What another process is told.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct News {
    /// [`News::SENT`], [`News::CAME`] to a meeting, or [`News::ENTERED`] a call that another needs.
    pub kind: u32,
    /// The call; the words of the meeting's group.
    pub at: At,
    /// The place among what the line sent; the place in the group.
    pub place: u32,
    pub is_root: u32,
    /// The number of the meeting.
    pub number: u64,
    pub value: i64,
}

impl News {
    pub const SENT: u32 = 0;
    pub const CAME: u32 = 1;
    pub const ENTERED: u32 = 2;

    /// A message was sent.
    pub fn sent(at: At, place: u32, value: i64) -> News {
        News { kind: News::SENT, at, place, value, ..News::zeroed() }
    }

    /// A call was entered.
    pub fn entered(at: At, value: i64) -> News {
        News { kind: News::ENTERED, at, value, ..News::zeroed() }
    }

    /// Someone came to a meeting.
    pub fn came(meeting: &Meeting, place: u32, is_root: bool, value: i64) -> News {
        let [rank, thread, row] = meeting.group.words();
        News { kind: News::CAME, at: At { rank, thread, row }, place, is_root: is_root.into(), number: meeting.number, value }
    }
}
