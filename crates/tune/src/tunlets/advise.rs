//! The tunlet `advise`: why, where and when a program loses time, searched for while it runs, as Paradyn's Performance Consultant does.
//!
//! It changes nothing. At first it looks only at functions of MPI, which costs next to nothing. When a hypothesis holds for the whole
//! program, it looks closer: at halves of the ranks, and at the functions that `main` calls, and so on downwards; and it looks away again
//! from wherever the time does not go.

mod code;
mod ranks;
mod tally;

use serde::Deserialize;
use sintonia_mpi::{FUNCTIONS, Operation};

use crate::mpi_time::{sends, takes_time, waits};
use crate::point::{Actor, MeasurePoint, Needs};
use crate::tunlet::{Figure, Joined, Tunlet, Wish};

use code::CodeSearch;
use ranks::RankSearch;
use tally::{Looks, Tally};

/// What can be told to it.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The share of the time that is worth telling of.
    pub threshold: f64,
    /// Seconds between two looks.
    pub period: f64,
    /// Looks before something is held to be so.
    pub periods: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { threshold: 0.2, period: 0.25, periods: 4 }
    }
}

/// Why a program may lose time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// It waits for messages or for others.
    Waiting,
    /// It spends its time sending small messages.
    SmallMessages,
    /// It reads and writes files.
    Files,
    /// It computes.
    Computing,
}

impl Why {
    const ALL: [Why; 4] = [Why::Waiting, Why::SmallMessages, Why::Files, Why::Computing];

    /// Whether time in this function counts for it.
    fn counts(self, operation: Operation) -> bool {
        match self {
            Why::Waiting => waits(operation.role()),
            Why::SmallMessages => sends(operation.role()),
            Why::Files => operation.role().is_file(),
            Why::Computing => takes_time(operation.role()),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Why::Waiting => "is spent waiting",
            Why::SmallMessages => "is spent sending small messages",
            Why::Files => "is spent on files",
            Why::Computing => "is spent computing",
        }
    }
}

/// A message with fewer bytes is small.
const SMALL: f64 = 1024.0;

/// A hypothesis that holds, and the search for where.
struct Case {
    why: Why,
    share: f64,
    since: f64,
    /// The function of MPI in which most of it goes.
    operation: Option<Operation>,
    ranks: Option<RankSearch>,
    code: CodeSearch,
    told: bool,
}

/// The tunlet.
pub struct Advise {
    settings: Settings,
    processes: u32,
    /// What was measured of each function of MPI in the period that runs, and in each of the latest.
    operations: Vec<(Operation, Tally)>,
    latest: Vec<Vec<Tally>>,
    looks: Looks,
    period_began: f64,
    began: Option<f64>,
    cases: Vec<Case>,
    shares: [f64; 4],
}

impl Advise {
    /// With these settings.
    pub fn new(mut settings: Settings) -> Advise {
        /// Time is told ten times a second.
        const SHORTEST_PERIOD: f64 = 0.1;
        settings.period = settings.period.max(SHORTEST_PERIOD);
        settings.periods = settings.periods.max(1);
        let all = (0..FUNCTIONS.len() as u16).filter_map(Operation::from_number);
        let operations: Vec<_> =
            all.filter(|operation| takes_time(operation.role())).map(|operation| (operation, Tally::default())).collect();
        Advise {
            looks: Looks::new(operations.len()),
            settings,
            processes: 1,
            operations,
            latest: Vec::new(),
            period_began: 0.0,
            began: None,
            cases: Vec::new(),
            shares: [0.0; 4],
        }
    }

    /// The share of the program's time that a hypothesis is about, in the latest periods.
    fn share(&self, why: Why) -> f64 {
        let time = self.settings.period * self.latest.len() as f64 * f64::from(self.processes);
        let counted = self.operations.iter().enumerate().filter(|(_, (operation, _))| why.counts(*operation));
        let tally = counted.map(|(place, _)| self.sum(place)).fold(Tally::default(), Tally::joined);
        let share = (tally.seconds / time).clamp(0.0, 1.0);
        match why {
            Why::Computing => 1.0 - share,
            Why::SmallMessages if tally.second > SMALL * tally.count as f64 => 0.0,
            _ => share,
        }
    }

    fn sum(&self, operation: usize) -> Tally {
        self.latest.iter().map(|tallies| tallies[operation]).fold(Tally::default(), Tally::joined)
    }

    /// The function of MPI in which most of the time goes.
    fn greatest(&self, why: Why) -> Option<Operation> {
        let counted = self.operations.iter().enumerate().filter(|(_, (operation, _))| why.counts(*operation));
        let greatest = counted.max_by(|one, other| self.sum(one.0).seconds.total_cmp(&self.sum(other.0).seconds));
        greatest.filter(|(place, _)| self.sum(*place).seconds > 0.0).map(|(_, (operation, _))| *operation)
    }

    /// A period is over: which hypotheses hold, and which do not any more.
    fn judge(&mut self, time: f64) -> Vec<Wish> {
        let tallies = self.operations.iter_mut().map(|(_, tally)| std::mem::take(tally)).collect();
        self.latest.push(tallies);
        if self.latest.len() > self.settings.periods as usize {
            self.latest.remove(0);
        }
        if self.latest.len() < self.settings.periods as usize {
            return Vec::new();
        }
        let mut wishes = Vec::new();
        for (place, why) in Why::ALL.into_iter().enumerate() {
            let share = self.share(why);
            self.shares[place] = share;
            let holds = share >= self.settings.threshold;
            match self.cases.iter().position(|case| case.why == why) {
                None if holds => wishes.extend(self.open(why, share, time)),
                // What comes and goes around the threshold is no news.
                Some(at) if share < 0.75 * self.settings.threshold => wishes.extend(self.close(at, share, time)),
                _ => {}
            }
        }
        wishes
    }

    fn open(&mut self, why: Why, share: f64, time: f64) -> Vec<Wish> {
        let operation = if why == Why::Computing { None } else { self.greatest(why) };
        let since = time - self.settings.period * f64::from(self.settings.periods);
        let ranks = operation.filter(|_| self.processes > 1).map(|operation| RankSearch::new(operation, self.processes));
        let mut case =
            Case { why, share, since: since.max(0.0), operation, ranks, code: CodeSearch::new(why != Why::Computing), told: false };
        let mut wishes = case.ranks.as_mut().map_or(Vec::new(), |ranks| ranks.begin(&mut self.looks, self.settings.period, time));
        wishes.extend(case.code.begin());
        self.cases.push(case);
        wishes
    }

    /// A hypothesis does not hold any more.
    fn close(&mut self, at: usize, share: f64, time: f64) -> Vec<Wish> {
        let case = self.cases.remove(at);
        let mut wishes: Vec<Wish> = case.code.end(&mut self.looks);
        wishes.extend(case.ranks.into_iter().flat_map(|ranks| ranks.end(&mut self.looks)));
        if case.told {
            let now = format!("when: until {time:.1} s; since then {:.0} % of the time {}", 100.0 * share, case.why.words());
            wishes.push(Wish::Tell(now));
        }
        wishes
    }

    /// Goes on with the searches; tells where the time goes once that is known.
    fn search(&mut self, time: f64) -> Vec<Wish> {
        let Settings { threshold, period, periods } = self.settings;
        let patience = period * f64::from(periods);
        let mut wishes = Vec::new();
        for case in &mut self.cases {
            if let Some(ranks) = &mut case.ranks {
                wishes.extend(ranks.go_on(&mut self.looks, period, patience, time));
            }
            wishes.extend(case.code.go_on(&mut self.looks, threshold, patience, time, self.processes));
            let found = case.code.is_done() && case.ranks.as_ref().is_none_or(RankSearch::is_done);
            if found && !case.told {
                case.told = true;
                wishes.push(Wish::Tell(case.words()));
            }
        }
        wishes
    }
}

impl Case {
    /// Why, where and when.
    fn words(&self) -> String {
        let mut words = format!("why: {:.0} % of the time {}", 100.0 * self.share, self.why.words());
        let inside = self.operation.map(|operation| format!("in {}", operation.name()));
        let ranks = self.ranks.as_ref().map(RankSearch::words);
        let code = self.code.words();
        let place: Vec<String> = inside.into_iter().chain(ranks).chain(code).collect();
        if !place.is_empty() {
            words += &format!("; where: {}", place.join(", "))[..];
        }
        words + &format!("; when: since {:.1} s", self.since)[..]
    }
}

impl Tunlet for Advise {
    fn name(&self) -> &str {
        "advise"
    }

    fn needs(&mut self, _processes: u32) -> Needs {
        let measure = |(operation, _): &(Operation, Tally)| {
            MeasurePoint::of_mpi(Actor::All, operation.name(), &["seconds", "bytes"], self.settings.period)
        };
        Needs { measures: self.operations.iter().map(measure).collect(), tunes: Vec::new() }
    }

    fn begins(&mut self, processes: u32) -> Vec<Wish> {
        self.processes = processes.max(1);
        Vec::new()
    }

    fn joined(&mut self, joined: &Joined) -> Vec<Wish> {
        let tally = Tally::of(joined);
        match self.operations.get_mut(joined.point) {
            Some((_, sum)) => *sum = sum.joined(tally),
            None => self.looks.note(joined.point, tally),
        }
        if self.began.is_none() {
            self.began = Some(joined.from);
            self.period_began = joined.from;
        }
        Vec::new()
    }

    fn passed(&mut self, time: f64) -> Vec<Wish> {
        if self.began.is_none() || time - self.period_began < self.settings.period {
            return Vec::new();
        }
        self.period_began += self.settings.period;
        let mut wishes = self.judge(time);
        wishes.extend(self.search(time));
        wishes
    }

    fn callees(&mut self, function: &str, callees: &[String]) -> Vec<Wish> {
        let time = self.period_began;
        let (looks, period) = (&mut self.looks, self.settings.period);
        self.cases.iter_mut().flat_map(|case| case.code.callees(function, callees, looks, period, time)).collect()
    }

    fn figures(&self) -> Vec<Figure> {
        let percent = |name, place: usize| Figure::new(name, (100.0 * self.shares[place]).round(), "%");
        if self.latest.len() < self.settings.periods as usize { Vec::new() } else { vec![percent("waiting", 0), percent("computing", 3)] }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::statistics::Sums;

    /// A program of four ranks: the upper two wait half of their time in MPI_Recv, all of it under `exchange`, which `step` calls.
    #[derive(Default)]
    struct Program {
        looks: HashMap<usize, MeasurePoint>,
        told: Vec<String>,
    }

    impl Program {
        /// Seconds in a function, and in MPI, that ranks spend in each second.
        fn spends(point: &MeasurePoint) -> (f64, f64) {
            let ranks = match &point.actor {
                Actor::Ranks(ranks) => ranks.clone(),
                _ => vec![0, 1, 2, 3],
            };
            let late = ranks.iter().filter(|rank| **rank >= 2).count() as f64;
            match point.function.as_str() {
                "MPI_Recv" => (0.5 * late, 0.0),
                "step" | "exchange" => (0.8 * ranks.len() as f64, 0.5 * late),
                "setup" => (0.01, 0.0),
                _ => (0.0, 0.0),
            }
        }

        fn grant(&mut self, advise: &mut Advise, wishes: Vec<Wish>) {
            for wish in wishes {
                match wish {
                    Wish::Look { number, point } => drop(self.looks.insert(number, point)),
                    Wish::LookAway(number) => drop(self.looks.remove(&number)),
                    Wish::Tell(what) => self.told.push(what),
                    Wish::Callees(function) => {
                        let callees: &[&str] = match function.as_str() {
                            "main" => &["setup", "run"],
                            "run" => &["step"],
                            "step" => &["exchange"],
                            _ => &[],
                        };
                        let callees: Vec<String> = callees.iter().map(ToString::to_string).collect();
                        let more = advise.callees(&function, &callees);
                        self.grant(advise, more);
                    }
                    Wish::Change { .. } => panic!("it changes nothing"),
                }
            }
        }

        fn run(&mut self, advise: &mut Advise, seconds: u32) {
            let needs = advise.needs(4);
            let declared: Vec<(usize, MeasurePoint)> = needs.measures.into_iter().enumerate().collect();
            let period = advise.settings.period;
            for round in 0..(f64::from(seconds) / period) as u32 {
                let from = f64::from(round) * period;
                for (number, point) in declared.iter().map(|(number, point)| (*number, point.clone())).chain(self.looks.clone()) {
                    let (spent, in_mpi) = Program::spends(&point);
                    if spent > 0.0 {
                        let of = |value: f64| {
                            let mut sums = Sums::default();
                            sums.add(value * period, 1);
                            sums
                        };
                        advise.joined(&Joined { point: number, from, count: 1, values: vec![of(spent), of(in_mpi)] });
                    }
                }
                let wishes = advise.passed(from + period);
                self.grant(advise, wishes);
            }
        }
    }

    #[test]
    fn it_finds_why_where_and_when() {
        let (mut advise, mut program) = (Advise::new(Settings::default()), Program::default());
        advise.begins(4);
        program.run(&mut advise, 30);
        let waiting = program.told.iter().find(|told| told.contains("waiting")).expect("told");
        assert_eq!(
            waiting,
            "why: 25 % of the time is spent waiting; where: in MPI_Recv, on ranks 2-3, under main > run > step > exchange (25 %); when: since 0.0 s"
        );
        assert!(
            program
                .told
                .iter()
                .any(|told| told.contains("75 % of the time is spent computing") && told.contains("main > run > step > exchange"))
        );
        assert_eq!(program.told.len(), 2, "{:?}", program.told);
        assert!(program.looks.is_empty(), "it looks away when it has found out: {:?}", program.looks);
    }
}
