//! For any bytes the C front end gives a model or an error, and never panics.

use proptest::prelude::*;
use sintonia_source::c;

/// Fragments of programs, so that random texts get past the grammar.
const WORDS: [&str; 60] = [
    "int",
    "double",
    "n",
    "i",
    "rank",
    "size",
    "a",
    "main",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ";",
    ",",
    "=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "<",
    "==",
    "&&",
    "!",
    "&",
    "?",
    ":",
    "for",
    "while",
    "do",
    "if",
    "else",
    "return",
    "break",
    "continue",
    "switch",
    "case",
    "0",
    "1",
    "2.5",
    "1e300",
    "0x7fffffffffffffff",
    "sizeof",
    "struct",
    "->",
    ".",
    "#define N 4\n",
    "\n#ifdef N\n",
    "\n#else\n",
    "\n#endif\n",
    "MPI_Send",
    "MPI_Comm_rank",
    "MPI_COMM_WORLD",
    "MPI_DOUBLE",
    "MPI_Bcast",
    "\"text\"",
    "'c'",
    "++",
];

/// Statements of which every list is a valid program.
const STATEMENTS: [&str; 26] = [
    "n = n * n;",
    "n = n / (rank - rank);",
    "n = n % n;",
    "n <<= 3;",
    "rank = size - rank;",
    "size = n;",
    "a[n] = a[rank];",
    "for (i = 0; i < n; i++) n = n - i;",
    "while (n > 1) n = n / 2;",
    "do n++; while (n != size);",
    "if (rank == 0) return 1;",
    "if (rank < n) n = rank; else n = -rank;",
    "if (rank == n % 3) exit(1);",
    "MPI_Send(a, n, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);",
    "MPI_Recv(a, rank, MPI_DOUBLE, n, 0, MPI_COMM_WORLD, &n);",
    "MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);",
    "if (rank > 0) MPI_Send(a, size, MPI_INT, 0, 0, MPI_COMM_WORLD);",
    "if (rank == 0) for (i = 1; i < size; i++) MPI_Recv(a, 1, MPI_INT, i, 0, MPI_COMM_WORLD, 0);",
    "for (i = n; i > 0; i -= 2) MPI_Barrier(MPI_COMM_WORLD);",
    "if (rank % 2) MPI_Barrier(MPI_COMM_WORLD);",
    "switch (n) { case 1: n = 2; case 3: MPI_Barrier(MPI_COMM_WORLD); break; }",
    "MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);",
    "MPI_Dims_create(size, 2, dims);",
    "n = dims[0] ? dims[1] : f(n);",
    "n = f(n) + f(rank);",
    "{ int *q = &n; *q = size; q++; n = q[-1]; }",
];

fn program(statements: &[usize]) -> String {
    let body: String = statements.iter().map(|at| STATEMENTS[at % STATEMENTS.len()]).collect();
    format!(
        "int f(int k) {{ if (k < 2) return k; return k - 1; }}\nint main(int argc, char **argv) {{ int n = 9, i, rank, size, dims[2] = {{0, 0}}; double a[100];\n{body}\nreturn 0; }}"
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_text_gives_a_model_or_an_error(text in "\\PC{0,200}") {
        let _ = c::compile_text("any.c", &text);
    }

    #[test]
    fn any_words_of_c_give_a_model_or_an_error(words in proptest::collection::vec(0usize..WORDS.len(), 0..80)) {
        let text: Vec<&str> = words.iter().map(|at| WORDS[*at]).collect();
        let _ = c::compile_text("any.c", &text.join(" "));
        let _ = c::compile_text("any.c", &format!("int main(int argc, char **argv) {{ int n, i, rank; {} }}", text.join(" ")));
    }

    #[test]
    fn any_statements_give_a_model_or_an_error(statements in proptest::collection::vec(0usize..STATEMENTS.len(), 0..12)) {
        let _ = c::compile_text("any.c", &program(&statements));
    }
}
