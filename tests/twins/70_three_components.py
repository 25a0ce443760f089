"""Three coupled components on 6 ranks: waves (0), ice (1) and ocean (2 to 5); a coupler exchange ends each step.

Problem: the ice has a quarter of the work but one of six ranks (ICE_RANKS), so all others wait for its step.
fixed: the ice has two ranks and the ocean three.
"""
from twin import MPI, comm, finish, fixed, rank, size, work

ICE_RANKS = 2 if fixed else 1  # PROBLEM
STEPS = 10


def waves():
    work(60)


def ice(n):
    work(150 / n)


def ocean(n):
    work(240 / n)


is_ice = 1 <= rank < 1 + ICE_RANKS
first_ocean = 1 + ICE_RANKS
partners = [0, 1, first_ocean]
component = comm.Split(0 if rank == 0 else 1 if is_ice else 2, rank)
fluxes = 0.0
for step in range(STEPS):
    if rank == 0:
        waves()
    elif is_ice:
        ice(ICE_RANKS)
    else:
        ocean(size - first_ocean)
    if rank in partners:
        requests = [comm.isend(step, dest=other, tag=step) for other in partners if other != rank]
        fluxes = float(sum(comm.recv(source=other, tag=step) for other in partners if other != rank))
        MPI.Request.waitall(requests)
    fluxes = component.bcast(fluxes, root=0)
finish(f"three_components {fluxes:.0f}")
