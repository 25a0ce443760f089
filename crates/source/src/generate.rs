//! Models of whole programs: batches of tasks described by PASL, or a single routine.

use std::collections::BTreeSet;

use sintonia_formula::Formula;
use sintonia_pamela::model::{Computer, ModelParameter, ModelTerm, PamelaModel, ProcedureDecl, ResourceDecl, SourceLanguage};

use crate::analysis::{AbstractValue, AnalysisOutput, StaticAnalyzer, propagate_constants, size_of_type};
use crate::compiled_model::{CompileNote, CompiledModel};
use crate::error::{Error, SourceDiagnostic};
use crate::ir::{DataType, IrProgram, IrRoutine, ScalarType};
use crate::model_names::to_model_name;
use crate::pasl::{BatchArgument, PaslApplication, TASK, TaskBatch};
use sintonia_text::suggestion::nearest_name;

/// The resource that distributes tasks and collects results.
const COORDINATOR: &str = "coordinator";

/// The model of a program that consists of one routine.
pub(crate) fn routine_model(program: &IrProgram, entry: Option<&str>) -> Result<CompiledModel, Error> {
    let entry = find_entry(program, entry.unwrap_or("main"))?;
    let mut analysis = StaticAnalyzer::new(program, SourceLanguage::Java);
    let values: Vec<AbstractValue> =
        entry.parameters.iter().map(|parameter| symbolic_argument(&parameter.name, &parameter.data_type)).collect();
    let call = analysis.call_with(&entry.name, &values, &entry.pos)?.unwrap_or(ModelTerm::Sequence(Vec::new()));
    let symbols = match &call {
        ModelTerm::Call { arguments, .. } => arguments.iter().flat_map(Formula::symbols).collect(),
        _ => Vec::new(),
    };
    let note = |name: &str| Some(format!("argument {name} of {}", entry.name));
    let parameters = symbols.into_iter().map(|name| ModelParameter { comment: note(&name), name, value: None }).collect();
    Ok(assemble_model(parameters, Vec::new(), call, analysis.finish(), None))
}

fn find_entry<'a>(program: &'a IrProgram, name: &str) -> Result<&'a IrRoutine, Error> {
    let is_it = |routine: &&IrRoutine| routine.name == name || routine.name.rsplit('.').next() == Some(name);
    program.routines.iter().find(is_it).ok_or_else(|| {
        let names = || program.routines.iter().map(|routine| routine.name.as_str());
        let short = names().filter_map(|name| name.rsplit('.').next());
        let hint = match nearest_name(name, names().chain(short)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", names().take(20).collect::<Vec<_>>().join(", ")),
        };
        Error::InvalidInput(format!("there is no routine `{name}`; {hint}"))
    })
}

/// The argument of the entry routine: symbols of the same name.
fn symbolic_argument(name: &str, of: &DataType) -> AbstractValue {
    match of {
        DataType::Scalar(ScalarType::Boolean) | DataType::Named(_) => AbstractValue::unknown(),
        DataType::Scalar(_) => AbstractValue::exact(Formula::symbol(&to_model_name(name))),
        DataType::Array(_) => {
            let (mut lengths, mut of) = (Vec::new(), of);
            while let DataType::Array(element) = of {
                let number = if lengths.is_empty() { String::new() } else { format!("_{}", lengths.len() + 1) };
                lengths.push(Some(Formula::symbol(&to_model_name(&format!("{name}_length{number}")))));
                of = element;
            }
            AbstractValue::Array(lengths)
        }
    }
}

/// The model of an application: independent batches in parallel, the tasks of each allocated to workers.
pub(crate) fn application_model(application: &PaslApplication, program: &IrProgram) -> Result<CompiledModel, Error> {
    let worker =
        ["w", "worker", "w_"].into_iter().find(|name| application.parameters.iter().all(|other| other.name != *name)).unwrap_or("w__");
    let mut builder = ApplicationBuilder {
        application,
        program,
        worker,
        analysis: StaticAnalyzer::new(program, SourceLanguage::Java).on_computer(worker),
        extra_parameters: Vec::new(),
        notes: Vec::new(),
    };
    let mut levels: Vec<Vec<ModelTerm>> = Vec::new();
    for batch in &application.batches {
        let term = builder.batch(batch)?;
        levels.resize_with(levels.len().max(batch.level + 1), Vec::new);
        levels[batch.level].push(term);
    }
    let together = |mut terms: Vec<ModelTerm>| if terms.len() == 1 { terms.remove(0) } else { ModelTerm::Parallel(terms) };
    let mut steps: Vec<ModelTerm> = levels.into_iter().map(together).collect();
    let main = if steps.len() == 1 { steps.remove(0) } else { ModelTerm::Sequence(steps) };
    let declared = application.parameters.iter().map(|parameter| ModelParameter {
        name: parameter.name.clone(),
        value: parameter.value.clone(),
        comment: None,
    });
    let parameters = declared.chain(builder.extra_parameters).collect();
    let resources = vec![ResourceDecl { name: COORDINATOR.to_owned(), multiplicity: Formula::one() }];
    let mut compiled = assemble_model(parameters, resources, main, builder.analysis.finish(), Some(worker));
    compiled.notes.extend(builder.notes);
    Ok(compiled)
}

fn assemble_model(
    mut parameters: Vec<ModelParameter>,
    resources: Vec<ResourceDecl>,
    main: ModelTerm,
    parts: AnalysisOutput,
    keep: Option<&str>,
) -> CompiledModel {
    // A parameter of the application with the name of an unknown quantity defines it.
    let declared: BTreeSet<String> = parameters.iter().map(|parameter| parameter.name.clone()).collect();
    parameters.extend(parts.parameters.into_iter().filter(|parameter| !declared.contains(&parameter.name)));
    let main = ProcedureDecl { name: "main".to_owned(), parameters: Vec::new(), body: main, comment: None };
    let procedures = propagate_constants(std::iter::once(main).chain(parts.procedures.into_iter().rev()).collect(), keep);
    CompiledModel { model: PamelaModel { language: SourceLanguage::Java, parameters, resources, procedures }, notes: parts.notes }
}

struct ApplicationBuilder<'a> {
    application: &'a PaslApplication,
    program: &'a IrProgram,
    worker: &'a str,
    analysis: StaticAnalyzer<'a>,
    /// Parameters for what the application does not specify.
    extra_parameters: Vec<ModelParameter>,
    notes: Vec<CompileNote>,
}

impl<'a> ApplicationBuilder<'a> {
    fn batch(&mut self, batch: &TaskBatch) -> Result<ModelTerm, Error> {
        let routine = self.routine(batch)?;
        let (mut values, mut sent) = (Vec::new(), Formula::zero());
        for (argument, parameter) in batch.arguments.iter().zip(&routine.parameters) {
            match (argument, &parameter.data_type) {
                (BatchArgument::Number { value, .. }, DataType::Scalar(of)) => {
                    let whole = !matches!(of, ScalarType::Float | ScalarType::Double) && !self.analysis.assumptions_mut().is_integer(value);
                    values.push(AbstractValue::exact(if whole { value.floor() } else { value.clone() }));
                    sent += Formula::integer(size_of_type(&parameter.data_type));
                }
                (BatchArgument::Results { batch, .. }, DataType::Array(_)) => {
                    let from = &self.application.batches[*batch];
                    values.push(AbstractValue::Array(vec![Some(from.tasks.clone())]));
                    sent += &from.tasks * &self.result_bytes(*batch)?;
                }
                (BatchArgument::Number { pos: place, .. }, _) => {
                    let problem = format!("`{}` of {} is not a number", parameter.name, routine.name);
                    return Err(SourceDiagnostic::new(place.clone(), problem)
                        .with_hint("for an array of results, pass the name of their batch")
                        .into());
                }
                (BatchArgument::Results { pos: place, .. }, _) => {
                    return Err(SourceDiagnostic::new(
                        place.clone(),
                        format!("`{}` of {} is not an array, as the results of a batch are", parameter.name, routine.name),
                    )
                    .into());
                }
            }
        }
        let position = self.application.batches.iter().position(|other| other.name == batch.name).unwrap_or(0);
        let back = self.result_bytes(position)?;
        let call = self.analysis.call_with(&routine.name, &values, &batch.pos)?.unwrap_or(ModelTerm::Sequence(Vec::new()));
        let (coordinator, worker) = (Computer("0".to_owned()), Computer(self.worker.to_owned()));
        let held = |resource: &str, body: ModelTerm| ModelTerm::Use { resource: resource.to_owned(), body: Box::new(body) };
        let body = ModelTerm::Sequence(vec![
            held(COORDINATOR, ModelTerm::Message { from: coordinator.clone(), to: worker.clone(), bytes: sent }),
            held(self.worker, call),
            held(COORDINATOR, ModelTerm::Message { from: worker, to: coordinator, bytes: back }),
        ]);
        Ok(ModelTerm::Tasks {
            index: TASK.to_owned(),
            from: Formula::one(),
            to: batch.tasks.clone(),
            computer: self.worker.to_owned(),
            body: Box::new(body),
        })
    }

    /// The routine that a batch runs, with the right number of parameters.
    fn routine(&self, batch: &TaskBatch) -> Result<&'a IrRoutine, Error> {
        let of_name = |routine: &&IrRoutine| match routine.name.strip_prefix(batch.routine.as_str()) {
            Some("") => true,
            Some(rest) => rest.strip_prefix('_').is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit())),
            None => false,
        };
        let named: Vec<&IrRoutine> = self.program.routines.iter().filter(of_name).collect();
        if let Some(routine) = named.iter().find(|routine| routine.parameters.len() == batch.arguments.len()) {
            return Ok(routine);
        }
        let wrong = match named.first() {
            Some(routine) => {
                let (takes, given) = (routine.parameters.len(), batch.arguments.len());
                SourceDiagnostic::new(
                    batch.pos.clone(),
                    format!("{} takes {takes} arguments, batch `{}` gives {given}", routine.name, batch.name),
                )
            }
            None => {
                let names = || self.program.routines.iter().map(|routine| routine.name.as_str());
                let wrong = SourceDiagnostic::new(
                    batch.pos.clone(),
                    format!("batch `{}` runs `{}`, which is in no Java file", batch.name, batch.routine),
                );
                match nearest_name(&batch.routine, names()) {
                    Some(near) => wrong.with_hint(format!("did you mean `{near}`?")),
                    None if self.program.routines.is_empty() => wrong.with_hint("name the Java files, or put them next to the PASL file"),
                    None => wrong.with_hint(format!("there are {}", names().take(20).collect::<Vec<_>>().join(", "))),
                }
            }
        };
        Err(wrong.into())
    }

    /// The size of a result of a batch: as specified by a flow, or that of its type.
    fn result_bytes(&mut self, position: usize) -> Result<Formula, Error> {
        let said = self.application.flows.iter().filter(|flow| flow.from == position).filter_map(|flow| flow.bytes.clone());
        let said: Vec<Formula> = said.collect();
        if !said.is_empty() {
            return Ok(Formula::max_of(said));
        }
        let batch = &self.application.batches[position];
        Ok(match &self.routine(batch)?.return_type {
            None => Formula::zero(),
            Some(of @ DataType::Scalar(_)) => Formula::integer(size_of_type(of)),
            Some(_) => self.unknown_bytes(batch),
        })
    }

    fn unknown_bytes(&mut self, batch: &TaskBatch) -> Formula {
        let name = to_model_name(&format!("bytes_{}", batch.name));
        let known = self.application.parameters.iter().map(|parameter| &parameter.name);
        if known.chain(self.extra_parameters.iter().map(|parameter| &parameter.name)).all(|known| *known != name) {
            let note = Some(format!("bytes of one result of batch {}", batch.name));
            self.extra_parameters.push(ModelParameter { name: name.clone(), value: None, comment: note });
            let text =
                format!("the size of a result of `{}` cannot be derived: specify it in a flow, or set it with -p {name}=…", batch.name);
            self.notes.push(CompileNote { pos: batch.pos.clone(), text });
        }
        Formula::symbol(&name)
    }
}
