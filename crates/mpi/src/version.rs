//! Short names of MPI libraries, derived from their version texts.

/// Short name and version, e.g. `Open MPI 4.1.4`.
pub fn short_name(version: &str) -> String {
    // Text that identifies the library, text before its version, short name; special cases first.
    const KNOWN: [(&str, &str, &str); 7] = [
        ("Open MPI", "Open MPI v", "Open MPI"),
        ("Intel(R) MPI Library", "Intel(R) MPI Library", "Intel MPI"),
        ("CRAY MPICH", "CRAY MPICH version", "Cray MPICH"),
        ("MVAPICH2", "MVAPICH2 Version", "MVAPICH2"),
        ("MVAPICH", "MVAPICH Version", "MVAPICH"),
        ("ParaStation", "ParaStation MPI", "ParaStation MPI"),
        ("MPICH", "MPICH Version", "MPICH"),
    ];
    let found = KNOWN.iter().find(|(mark, _, _)| version.contains(mark));
    let Some((_, before, name)) = found else { return first_line(version) };
    match version.split_once(before).and_then(|(_, rest)| number(rest)) {
        Some(number) => format!("{name} {number}"),
        None => (*name).to_owned(),
    }
}

fn number(text: &str) -> Option<&str> {
    let text = text.trim_start_matches([':', ' ', '\t', 'v']);
    let end = text.find(|c: char| c.is_whitespace() || c == ',').unwrap_or(text.len());
    text[..end].starts_with(|c: char| c.is_ascii_digit()).then_some(&text[..end])
}

fn first_line(text: &str) -> String {
    const MOST: usize = 60;
    text.lines().next().unwrap_or("").trim().chars().take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::short_name;

    #[test]
    fn libraries_are_called_by_name_and_version() {
        for (version, name) in [
            ("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022", "Open MPI 4.1.4"),
            ("Open MPI v5.1.0a1, package: x", "Open MPI 5.1.0a1"),
            ("MPICH Version:      4.0.2\nMPICH Release date: Thu Apr  7 12:34:45 CDT 2022\nMPICH ABI: 14:2:2", "MPICH 4.0.2"),
            ("Intel(R) MPI Library 2021.18 for Linux* OS\n", "Intel MPI 2021.18"),
            ("MPI VERSION    : CRAY MPICH version 8.1.25 (ANL base 3.4a2)\n", "Cray MPICH 8.1.25"),
            ("MVAPICH2 Version      :\t2.3.7\nMVAPICH2 Release date", "MVAPICH2 2.3.7"),
            ("MPICH", "MPICH"),
            ("Some MPI\nof the future", "Some MPI"),
            ("", ""),
        ] {
            assert_eq!(short_name(version), name);
        }
    }
}
