"""Ours, Extra-P and pycewise behind one small interface."""
import json
import subprocess
import time
import warnings


class Example:
    """One of the crate's examples, which stays open: a table in, an answer out."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, table):
        self.process.stdin.write(json.dumps(table) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def fit(self, task):
        return self.ask(dict(id=0, parameters=task.parameters, points=task.points, values=task.values, at=task.at + task.inside))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


LOGARITHMS = {"1": 0, "log2": 1, "log2^2": 2}


def term_of(answer):
    """The exponent and the power of the logarithm that ours shows; nothing if it shows another kind of formula."""
    terms = [factors for factors in answer["shown"]["terms"] if factors]
    if not terms:
        return 0, 0
    if len(terms) == 1 and terms[0][0]["log"] in LOGARITHMS:
        return terms[0][0]["exponent"], LOGARITHMS[terms[0][0]["log"]]
    return None


class ExtraP:
    """Extra-P with its default modellers."""

    def __init__(self):
        warnings.filterwarnings("ignore")
        from extrap.entities.callpath import Callpath
        from extrap.entities.coordinate import Coordinate
        from extrap.entities.experiment import Experiment
        from extrap.entities.measurement import Measurement
        from extrap.entities.metric import Metric
        from extrap.entities.parameter import Parameter
        from extrap.modelers.model_generator import ModelGenerator
        self.parts = Callpath, Coordinate, Experiment, Measurement, Metric, Parameter, ModelGenerator

    def fit(self, task):
        Callpath, Coordinate, Experiment, Measurement, Metric, Parameter, ModelGenerator = self.parts
        experiment = Experiment()
        for name in task.parameters:
            experiment.add_parameter(Parameter(name))
        path, metric = Callpath("main"), Metric("time")
        experiment.add_callpath(path)
        experiment.add_metric(metric)
        for point, values in zip(task.points, task.values):
            coordinate = Coordinate(point)
            experiment.add_coordinate(coordinate)
            experiment.add_measurement(Measurement(coordinate, path, metric, values))
        begin = time.process_time()
        generator = ModelGenerator(experiment)
        generator.model_all()
        seconds = time.process_time() - begin
        function = experiment.modelers[0].models[(path, metric)].hypothesis.function
        one = len(task.parameters) == 1
        predicted = [float(function.evaluate(p[0] if one else tuple(p))) for p in task.at]
        return dict(seconds=seconds, predicted=predicted, term=self.term(function) if one else None)

    @staticmethod
    def term(function):
        """The exponent and the power of the logarithm of a model with one parameter; (0, 0) for a constant."""
        exponent = power = 0
        for compound in function.compound_terms:
            for simple in compound.simple_terms:
                if simple.term_type == "polynomial":
                    exponent = float(simple.exponent)
                else:
                    power = int(simple.exponent)
        return exponent, power


class Pycewise:
    """pycewise as SimGrid's calibration tutorial uses it; `mode` is 'log' or 'BIC'."""

    def __init__(self, mode):
        warnings.filterwarnings("ignore")
        self.mode = mode

    def fit(self, points, at):
        from pycewise import compute_regression
        begin = time.process_time()
        result = compute_regression([p[0] for p in points], [p[1] for p in points], mode=self.mode).flatify()
        try:
            result = result.auto_simplify()
        except Exception:  # it cannot always be simplified; the full result stands then
            pass
        seconds = time.process_time() - begin
        return dict(seconds=seconds, predicted=[result.predict(float(x)) for x in at], breaks=[float(b) for b in result.breakpoints])
