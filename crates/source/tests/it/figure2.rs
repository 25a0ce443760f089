//! Figure 2 of the APET paper: a condition that calls a method with a loop, and its model.

use crate::support::{java, lines, lines_with_notes};

const FIGURE: &str = "
class Figure {
    void task(boolean condicao) {
        if (condicao) {
            metodo_T(100000);
        } else {
            bloco1();
        }
    }
    void metodo_T(double y) {
        double i;
        for (i = 0; i < y; i++) {
            bloco2();
        }
    }
    void bloco1() { }
    void bloco2() { }
}";

#[test]
fn the_method_of_the_figure_has_the_model_of_the_figure() {
    let compiled = java(FIGURE, "task");
    let expected = [
        "// parameter y",
        "assign_double",
        "// initialisation",
        "assign_double",
        "// first comparison",
        "access_double",
        "compare_double",
        "seq(i=1,100000)",
        "  // next iteration",
        "  assign_double",
        "  access_double",
        "  sum_double",
        "  compare_double",
        "  // body",
        "  call",
        "  Figure_bloco2()",
    ];
    assert_eq!(lines_with_notes(&compiled.model, "Figure_metodo_T"), expected);
}

#[test]
fn the_condition_of_the_figure_is_a_choice_of_two_blocks() {
    let compiled = java(FIGURE, "task");
    let expected = ["assign_int", "access_int", "if A.java:4", "  call", "  Figure_metodo_T()", "else", "  call", "  Figure_bloco1()"];
    assert_eq!(lines(&compiled.model, "Figure_task"), expected);
}
