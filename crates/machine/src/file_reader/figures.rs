//! The values of machine files: figures with their intervals, and words of the machine's own lists.

use super::{TomlTable, TomlValue};
use crate::{Error, MachineFileProblem, Named, UncertainValue};

/// Takes all keys that name a variant, in the order of the enumeration.
pub(super) fn take_variants<'a, N: Named>(table: &mut TomlTable<'a>) -> Vec<(N, TomlValue<'a>)> {
    N::ALL.iter().filter_map(|one| Some((*one, table.take(one.name())?))).collect()
}

/// A value read as a figure.
pub(super) trait MachineFigures {
    /// A number, or low, middle and high.
    fn uncertain(&self) -> Result<UncertainValue, Error>;

    /// A value that is nowhere negative.
    fn non_negative(&self) -> Result<UncertainValue, Error>;

    /// A finite number that is not negative.
    fn non_negative_number(&self) -> Result<f64, Error>;

    /// A value that is positive everywhere.
    fn above_zero(&self) -> Result<UncertainValue, Error>;

    /// A value from 0 to 1.
    fn share(&self) -> Result<UncertainValue, Error>;

    /// A variant, by its name.
    fn variant<N: Named>(&self) -> Result<N, Error>;
}

impl MachineFigures for TomlValue<'_> {
    fn uncertain(&self) -> Result<UncertainValue, Error> {
        if !self.is_list() {
            return exact(self);
        }
        let numbers = self.list()?.iter().map(TomlValue::number).collect::<Result<Vec<_>, _>>()?;
        let [low, middle, high] = numbers[..] else { return Err(self.unexpected("one number, or [low, middle, high]")) };
        UncertainValue::new(low, middle, high).map_err(|problem| self.error(MachineFileProblem::Figure { key: self.key().into(), problem }))
    }

    fn non_negative(&self) -> Result<UncertainValue, Error> {
        require_non_negative(self, self.uncertain()?)
    }

    fn non_negative_number(&self) -> Result<f64, Error> {
        require_non_negative(self, exact(self)?).map(|figure| figure.middle())
    }

    fn above_zero(&self) -> Result<UncertainValue, Error> {
        let figure = self.uncertain()?;
        if figure.low() <= 0.0 {
            return Err(self.error(MachineFileProblem::NotAboveZero { key: self.key().into(), value: figure.low() }));
        }
        Ok(figure)
    }

    fn share(&self) -> Result<UncertainValue, Error> {
        let share = self.non_negative()?;
        if share.high() > 1.0 {
            return Err(self.error(MachineFileProblem::NotAFraction { key: self.key().into(), value: share.high() }));
        }
        Ok(share)
    }

    fn variant<N: Named>(&self) -> Result<N, Error> {
        let word = self.text()?;
        N::from_name(&word).ok_or_else(|| self.unknown_word(word, N::all_names()))
    }
}

fn exact(value: &TomlValue) -> Result<UncertainValue, Error> {
    let number = value.number()?;
    UncertainValue::exact(number).map_err(|problem| value.error(MachineFileProblem::Figure { key: value.key().into(), problem }))
}

fn require_non_negative(value: &TomlValue, figure: UncertainValue) -> Result<UncertainValue, Error> {
    if figure.low() < 0.0 {
        return Err(value.error(MachineFileProblem::Negative { key: value.key().into(), value: figure.low() }));
    }
    Ok(figure)
}
