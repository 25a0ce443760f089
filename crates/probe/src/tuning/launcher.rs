//! Rank of this process before MPI is initialised, from the launcher's environment.

/// Variables with rank and number of processes, by launcher.
const NAMES: [(&str, &str); 4] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("PMIX_RANK", "PMIX_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
];

/// Rank of this process and number of processes, if the launcher provides them.
pub(super) fn rank_and_size() -> Option<(u32, u32)> {
    rank_and_size_from(|name| std::env::var(name).ok())
}

fn rank_and_size_from(variable: impl Fn(&str) -> Option<String>) -> Option<(u32, u32)> {
    let number = |name: &str| variable(name)?.parse::<u32>().ok();
    let place = |(rank, size): &(&str, &str)| Some((number(rank)?, number(size)?)).filter(|(rank, size)| rank < size);
    NAMES.iter().find_map(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_say_it_by_different_names() {
        let says = |said: &[(&str, &str)]| {
            let said = said.to_vec();
            rank_and_size_from(move |name| said.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string()))
        };
        assert_eq!(says(&[("OMPI_COMM_WORLD_RANK", "3"), ("OMPI_COMM_WORLD_SIZE", "8"), ("PMIX_RANK", "3")]), Some((3, 8)));
        assert_eq!(says(&[("PMI_RANK", "0"), ("PMI_SIZE", "1")]), Some((0, 1)));
        assert_eq!(says(&[("SLURM_PROCID", "1"), ("SLURM_NTASKS", "2")]), Some((1, 2)));
    }

    #[test]
    fn half_a_word_or_nonsense_is_none() {
        let says = |rank: &'static str, size: &'static str| {
            rank_and_size_from(move |name| match name {
                "PMI_RANK" => Some(rank.to_string()),
                "PMI_SIZE" => Some(size.to_string()),
                _ => None,
            })
        };
        assert_eq!((says("x", "2"), says("2", "2"), says("0", "")), (None, None, None));
        assert_eq!(rank_and_size_from(|name| (name == "PMIX_RANK").then(|| "0".to_string())), None);
    }
}
