//! The analyzer: tells tunlets what happens in the program, and has the changes made that they wish.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::decision::{Decision, Entry};
use crate::point::Needs;
use crate::talk::{Ask, Change, Told};
use crate::tree::Tree;
use crate::tunlet::{Figure, Happening, Joined, Tunlet, Wish};

/// Events are read so often: a decision comes soon enough, and reading takes next to nothing from the program.
const PAUSE: Duration = Duration::from_micros(500);
/// Tunlets are told of the time so often.
const TICK: Duration = Duration::from_millis(100);

/// What is under way at the end of the program comes within this time.
const LAST: Duration = Duration::from_millis(300);
/// No more lines of the log are kept than this, so that a run of days does not fill the memory.
const MOST_KEPT: usize = 1 << 20;
/// No more changes wait for answers.
const MOST_ASKED: usize = 1 << 16;

/// What came of tuning a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    /// All that was told on the way.
    pub log: Vec<Entry>,
    /// How many other hosts took part.
    pub hosts: usize,
    /// How many processes were tuned.
    pub processes: usize,
    /// How many the program has, if one of them said so.
    pub size: Option<u32>,
    /// How many events were read.
    pub events: u64,
    /// How many were dropped.
    pub dropped: u64,
}

impl Summary {
    /// The changes.
    pub fn decisions(&self) -> impl Iterator<Item = &Decision> {
        self.log.iter().filter_map(Entry::decision)
    }
}

/// A change that was asked for: by which tunlet, at which of its points, and what is told of it when a process answers.
struct Asked {
    tunlet: usize,
    point: usize,
    decision: Decision,
    was_answered: bool,
}

/// Watches and tunes one run.
pub struct Analyzer {
    tunlets: Vec<Box<dyn Tunlet>>,
    needs: Vec<Needs>,
    tree: Tree,
    /// By number: the first was asked for first.
    asked: BTreeMap<u64, Asked>,
    changes: u64,
    /// Lines of the log that nobody was told of yet.
    fresh: Vec<Entry>,
    /// What was complained of.
    problems: HashSet<String>,
    /// The ranks that are there.
    ranks: HashSet<u32>,
    figures: Vec<Vec<Figure>>,
    /// Nothing is changed, only told.
    watch: bool,
    summary: Summary,
}

impl Analyzer {
    /// An analyzer of the hosts of this tree.
    pub fn new(tunlets: Vec<Box<dyn Tunlet>>, tree: Tree, watch: bool) -> Analyzer {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let began = Entry::Began { time_s: 0.0, since_1970_s: now_s - tree.now() };
        Analyzer {
            needs: tunlets.iter().map(|_| Needs::default()).collect(),
            figures: tunlets.iter().map(|_| Vec::new()).collect(),
            tunlets,
            tree,
            asked: BTreeMap::new(),
            changes: 0,
            fresh: vec![began],
            problems: HashSet::new(),
            ranks: HashSet::new(),
            watch,
            summary: Summary::default(),
        }
    }

    /// Works until told to stop; whoever looks on is told every line of the log.
    pub fn run(mut self, is_over: impl Fn() -> bool, mut tell: impl FnMut(&Entry)) -> Summary {
        let mut ticked = Instant::now();
        loop {
            let over = is_over();
            let begin = Instant::now();
            self.hear();
            if over {
                self.end();
            }
            if over || ticked.elapsed() >= TICK {
                ticked = Instant::now();
                self.tick();
            }
            self.tell_and_keep(&mut tell);
            if over {
                return self.summary;
            }
            std::thread::sleep(PAUSE.saturating_sub(begin.elapsed()));
        }
    }

    /// Hears what is still under way; what nobody has done by then is told as not done.
    fn end(&mut self) {
        let begin = Instant::now();
        while !self.tree.is_empty() && begin.elapsed() < LAST {
            std::thread::sleep(PAUSE);
            self.hear();
        }
        let last = self.tree.hear_last();
        self.heard(last);
        // Of one that a later change of the same point has taken the place of, nothing is told.
        let mut later = HashSet::new();
        for Asked { tunlet, point, decision, was_answered } in std::mem::take(&mut self.asked).into_values().rev() {
            if later.insert((tunlet, point, decision.rank)) && !was_answered {
                let refused = Some("no process made it before the program ended".into());
                self.fresh.push(Entry::Change(Decision { refused, ..decision }));
            }
        }
    }

    fn tell_and_keep(&mut self, tell: &mut impl FnMut(&Entry)) {
        let room = MOST_KEPT.saturating_sub(self.summary.log.len());
        if room > 0 && self.fresh.len() >= room {
            let what = format!("the log has {MOST_KEPT} lines: what follows is told, and not kept");
            self.fresh.insert(room - 1, Entry::Problem { time_s: self.tree.now(), what });
        }
        self.fresh.iter().for_each(tell);
        self.summary.log.extend(self.fresh.drain(..).take(room));
    }

    fn hear(&mut self) {
        let told = self.tree.hear();
        self.heard(told);
    }

    fn heard(&mut self, all: Vec<Told>) {
        for told in all {
            match told {
                Told::Host(_) => self.summary.hosts += 1,
                Told::Came { size } => self.begin(size),
                Told::Ready { rank } => {
                    self.summary.processes += 1;
                    if !self.ranks.insert(rank) {
                        self.problem(format!("rank {rank}: {SEVERAL}"));
                    }
                }
                Told::Gone { rank, finished } => {
                    self.ranks.remove(&rank);
                    if !finished {
                        self.problem(format!("rank {rank} has ended in the middle; the others are tuned on"));
                    }
                }
                Told::Happened { tunlet, happening } => self.happened(tunlet, &happening),
                Told::Joined { tunlet, joined } => self.joined(tunlet, &joined),
                Told::Changed { number, rank, outcome } => self.changed(number, rank, outcome),
                Told::Callees { tunlet, function, callees } => self.callees(tunlet, &function, &callees),
                Told::Problem(what) => self.problem(what),
                Told::Count { events, dropped } => {
                    self.summary.events += events;
                    self.summary.dropped += dropped;
                }
            }
        }
    }

    fn problem(&mut self, what: String) {
        let time_s = self.tree.now();
        // What every process has to complain of is told once.
        let about = what.split_once(": ").map_or(&what[..], |(_, rest)| rest).to_owned();
        if self.problems.insert(about) {
            self.fresh.push(Entry::Problem { time_s, what });
        }
    }

    /// The size of the program is known: so is what tunlets need.
    fn begin(&mut self, size: u32) {
        if self.summary.size.is_some() {
            return;
        }
        self.summary.size = Some(size);
        self.needs = self.tunlets.iter_mut().map(|tunlet| tunlet.needs(size)).collect();
        self.tree.ask(Ask::Needs(self.needs.clone()));
        for tunlet in 0..self.tunlets.len() {
            let wishes = self.tunlets[tunlet].begins(size);
            self.grant_all(tunlet, wishes, 0.0);
        }
        self.tree.ask(Ask::Begin);
    }

    fn happened(&mut self, tunlet: usize, happening: &Happening) {
        let Some(one) = self.tunlets.get_mut(tunlet) else { return };
        let wishes = one.happened(happening);
        self.grant_all(tunlet, wishes, happening.time);
    }

    fn joined(&mut self, tunlet: usize, joined: &Joined) {
        let Some(one) = self.tunlets.get_mut(tunlet) else { return };
        let wishes = one.joined(joined);
        self.grant_all(tunlet, wishes, joined.from);
    }

    fn callees(&mut self, tunlet: usize, function: &str, callees: &[String]) {
        let Some(one) = self.tunlets.get_mut(tunlet) else { return };
        let wishes = one.callees(function, callees);
        self.grant_all(tunlet, wishes, self.tree.now());
    }

    fn tick(&mut self) {
        let time_s = self.tree.now();
        for tunlet in 0..self.tunlets.len() {
            let wishes = self.tunlets[tunlet].passed(time_s);
            self.grant_all(tunlet, wishes, time_s);
            let figures = self.tunlets[tunlet].figures();
            if figures != self.figures[tunlet] {
                self.figures[tunlet].clone_from(&figures);
                self.fresh.push(Entry::Figures { time_s, tunlet: self.tunlets[tunlet].name().to_owned(), figures });
            }
        }
    }

    fn changed(&mut self, number: u64, rank: u32, outcome: Result<Option<f64>, String>) {
        let Some(Asked { tunlet, point, decision, was_answered }) = self.asked.get_mut(&number) else { return };
        *was_answered = true;
        let (tunlet, point) = (*tunlet, *point);
        let mut decision = Decision { rank: Some(rank), ..decision.clone() };
        let mut wishes = Vec::new();
        match outcome {
            Ok(before) => {
                self.tunlets[tunlet].changed(point, rank, before);
                decision.old = before;
            }
            Err(why) => {
                wishes = self.tunlets[tunlet].refused(point, rank, &why);
                decision.refused = Some(why);
            }
        }
        let time = decision.time_s;
        self.fresh.push(Entry::Change(decision));
        self.grant_all(tunlet, wishes, time);
    }

    fn grant_all(&mut self, tunlet: usize, wishes: Vec<Wish>, time: f64) {
        for wish in wishes {
            match wish {
                Wish::Change { point, value, rank, why } => self.grant(Change { number: 0, tunlet, point, value, rank }, why, time),
                Wish::Look { number, point } => self.tree.ask(Ask::Look { tunlet, number, point }),
                Wish::LookAway(number) => self.tree.ask(Ask::LookAway { tunlet, number }),
                Wish::Callees(function) => self.tree.ask(Ask::Callees { tunlet, function }),
                Wish::Tell(what) => {
                    self.fresh.push(Entry::Finding { time_s: time, tunlet: self.tunlets[tunlet].name().to_owned(), what });
                }
            }
        }
    }

    /// Has a change made, unless it may not be.
    fn grant(&mut self, change: Change, why: String, time: f64) {
        let Some(point) = self.needs[change.tunlet].tunes.get(change.point) else { return };
        let action = point.target.to_string();
        let (least, most) = point.range;
        let refused = if !(least..=most).contains(&change.value) {
            Some(format!("{action} may be from {least} to {most}"))
        } else if self.is_owned_by_another(change.tunlet, &action) {
            Some("another tunlet, named before, sets it".into())
        } else if self.watch {
            Some("only watched".into())
        } else {
            None
        };
        let tunlet = self.tunlets[change.tunlet].name().to_owned();
        let decision = Decision { time_s: time, tunlet, action, rank: change.rank, old: None, new: change.value, why, refused };
        if decision.refused.is_some() {
            return self.fresh.push(Entry::Change(decision));
        }
        self.changes += 1;
        self.asked.insert(self.changes, Asked { tunlet: change.tunlet, point: change.point, decision, was_answered: false });
        if self.asked.len() > MOST_ASKED {
            self.asked.pop_first();
        }
        self.tree.ask(Ask::Change(Change { number: self.changes, ..change }));
    }

    /// Of several tunlets that would set one variable, the one that was named first does.
    fn is_owned_by_another(&self, tunlet: usize, action: &str) -> bool {
        self.needs[..tunlet].iter().flat_map(|needs| &needs.tunes).any(|point| point.target.to_string() == action)
    }
}

/// Processes of several programs cannot be told apart by their ranks.
const SEVERAL: &str = "two processes have the same rank, as with several programs at once: what happens in them is taken for that of one";

#[cfg(test)]
mod tests {
    use sintonia_link::order::When;
    use sintonia_link::session::Secret;

    use super::*;
    use crate::collector::Collector;
    use crate::point::{Actor, Moment, Target, TuningPoint};
    use crate::station::now_ns;

    /// A tunlet that wants something from the beginning on.
    struct Eager;

    impl Tunlet for Eager {
        fn name(&self) -> &str {
            "eager"
        }

        fn needs(&mut self, _processes: u32) -> Needs {
            let target = Target::Variable("chunk".into());
            let tune = TuningPoint { actor: Actor::Master, target, range: (0.0, 9.0), moment: Moment::AtOnce, when: When::Once };
            Needs { measures: Vec::new(), tunes: vec![tune] }
        }

        fn begins(&mut self, _processes: u32) -> Vec<Wish> {
            vec![
                Wish::change(0, 2.0, "two are better"),
                Wish::change(0, 3.0, "three are better"),
                Wish::change(7, 3.0, "there is no such point"),
            ]
        }
    }

    fn analyzer(folder: &tempfile::TempDir) -> Analyzer {
        let collector = Collector::open(&folder.path().join("door"), &Secret::new().expect("randomness")).expect("a door");
        Analyzer::new(vec![Box::new(Eager)], Tree::new(collector, None, now_ns()), false)
    }

    #[test]
    fn a_change_that_no_process_made_is_told_as_not_done() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut analyzer = analyzer(&folder);
        analyzer.heard(vec![Told::Came { size: 2 }]);
        let summary = analyzer.run(|| true, |_| ());
        let decisions: Vec<_> = summary.decisions().map(|decision| (decision.new, decision.refused.is_some())).collect();
        assert_eq!(decisions, [(3.0, true)]);
    }

    #[test]
    fn two_processes_with_one_rank_are_told_of_once_and_one_after_the_other_are_not() {
        let problems = |told: &[Told]| {
            let folder = tempfile::tempdir().expect("a folder");
            let mut analyzer = analyzer(&folder);
            analyzer.heard(told.to_vec());
            analyzer.run(|| true, |_| ()).log.iter().filter(|entry| matches!(entry, Entry::Problem { .. })).count()
        };
        let (comes, goes) = (|rank| Told::Ready { rank }, Told::Gone { rank: 0, finished: true });
        assert_eq!(problems(&[comes(0), comes(1), comes(0), comes(1)]), 1);
        assert_eq!(problems(&[comes(0), comes(1), goes, comes(0)]), 0);
    }
}
