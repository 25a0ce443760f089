"""Calls MPI_Barrier in many ways, and notes each time the Python frames that Python itself sees. Without mpi4py, MPI is called with ctypes.

Usage: ledger.py LEDGER [SONAME]: rank 0 writes its notes to LEDGER; SONAME is the MPI library for ctypes."""
import builtins, functools, json, sys, threading, types

if len(sys.argv) > 2:
    import ctypes
    mpi = ctypes.CDLL(sys.argv[2], mode=ctypes.RTLD_GLOBAL)
    mpi.MPI_Init(None, None)
    if hasattr(mpi, "ompi_mpi_comm_world"):
        world, own = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world"))), ctypes.c_void_p(
            ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_self")))
    else:
        world, own = ctypes.c_int(0x44000000), ctypes.c_int(0x44000001)
    number = ctypes.c_int()
    mpi.MPI_Comm_rank(world, ctypes.byref(number))
    rank = number.value
    barrier = functools.partial(mpi.MPI_Barrier, own)
else:
    from mpi4py import MPI
    rank = MPI.COMM_WORLD.Get_rank()
    barrier = MPI.COMM_SELF.Barrier

ledger = []


def note(lines=0):
    """Notes the frames of a call that is that many lines below."""
    path, frame = [], sys._getframe(1)
    while frame:
        # Tracebacks of Python leave the import system out.
        if not frame.f_code.co_filename.startswith("<frozen importlib"):
            path.append([frame.f_code.co_filename, frame.f_code.co_name, frame.f_lineno])
        frame = frame.f_back
    path[0][2] += lines
    ledger.append(path)


def plain():
    note(), barrier()
    for _ in range(3):
        note(), barrier(); note(), barrier()


def several_lines():
    return (note(1),
            barrier(
            ))


class Solver:
    def __init__(self):
        note(), barrier()

    def step(self):
        note(), barrier()

    @property
    def state(self):
        note(), barrier()

    @staticmethod
    def static():
        note(), barrier()

    @classmethod
    def of_class(cls):
        note(), barrier()

    def __del__(self):
        note(), barrier()

    def __enter__(self):
        note(), barrier()

    def __exit__(self, *_):
        note(), barrier()


def traced(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        note(), barrier()
        return function(*arguments)
    return wrapper


@traced
def decorated():
    note(), barrier()


def from_one():
    decorated()


def from_another():
    decorated()


def generator():
    note(), barrier()
    yield 1
    yield from inner_generator()
    note(), barrier()


def inner_generator():
    note(), barrier()
    yield 2


async def coroutine():
    note(), barrier()
    await deeper()


async def deeper():
    note(), barrier()


def recursive(depth):
    if depth == 0:
        note(), barrier()
    else:
        recursive(depth - 1)
    if depth % 3 == 0:
        note(), barrier()


def raised():
    try:
        raise ValueError
    except ValueError:
        note(), barrier()
    finally:
        note(), barrier()


def callbacks():
    sorted([2, 1], key=lambda value: (note(), barrier(), value)[2])
    list(map(lambda value: (note(), barrier()), [1, 2]))
    functools.reduce(lambda a, b: (note(), barrier(), a)[2], [1, 2, 3])
    str(type("Shown", (), {"__str__": lambda self: (note(), barrier(), "x")[2]})())


def comprehensions():
    [(note(), barrier()) for _ in range(2)]
    {(note(), barrier()) for _ in range(2)}
    {key: (note(), barrier()) for key in range(2)}
    list((note(), barrier()) for _ in range(2))
    [[(note(), barrier()) for _ in range(1)] for _ in range(2)]


def made_code():
    """Code objects that are freed: later ones take their place in memory, with other lines, functions and files."""
    names = {"note": note, "barrier": barrier}
    for turn in range(40):
        exec(compile("\n" * (turn % 7) + "note(), barrier()", f"made-{turn % 5}.py", "exec"), names)
        exec("\n" * (turn % 3) + "note(), barrier()", names)
        made = {}
        exec("\n" * (turn % 4) + f"def made_{turn % 6}():\n" + "    pass\n" * (turn % 3) + "    note(), barrier()", names, made)
        made[f"made_{turn % 6}"]()
        eval("(note(), barrier())", names)


def reloaded_module():
    for turn in range(10):
        module = types.ModuleType("reloaded")
        module.__dict__.update(note=note, barrier=barrier)
        text = "\n" * turn + "def work():\n    return note(), barrier()\n"
        exec(compile(text, "réloadé-тест-\U0001f600.py", "exec"), module.__dict__)
        module.work()


def by_name(name):
    note(), barrier()


def imported_module():
    builtins.note, builtins.barrier = note, barrier
    import imported
    imported.work()


def main():
    plain()
    several_lines()
    for _ in range(20):
        # Often enough for calls to be specialised.
        solver = Solver()
        solver.step()
        solver.state
        Solver.static()
        Solver.of_class()
        del solver
    with Solver():
        note(), barrier()
    for _ in range(5):
        from_one(), from_another()
        decorated()
    for _ in generator():
        note(), barrier()
    try:
        coroutine().send(None)
    except StopIteration:
        pass
    recursive(9)
    raised()
    callbacks()
    comprehensions()
    made_code()
    reloaded_module()
    imported_module()
    globals()["by_" + "name"]("x")
    exec("main_like()", {"main_like": plain})


stop = False


def busy():
    while not stop:
        [str(number) for number in range(100)]


others = [threading.Thread(target=busy) for _ in range(2)]
[thread.start() for thread in others]
main()
if len(sys.argv) > 2 or MPI.Query_thread() >= MPI.THREAD_SERIALIZED:
    for target in (plain, main):
        thread = threading.Thread(target=target)
        thread.start()
        thread.join()
stop = True
[thread.join() for thread in others]
note(), barrier()
if rank == 0:
    with open(sys.argv[1], "w") as file:
        json.dump(ledger, file)
if len(sys.argv) > 2:
    mpi.MPI_Finalize()
