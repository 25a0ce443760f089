! Probes on 2 ranks: in each step the values of 4000 probes are gathered on rank 0.
! Problem: gather_probes() calls MPI_Gather once per probe, 4000 collectives of 8 bytes instead of one.
! fixed: one MPI_Gather of 4000 values from each rank.
program single_gathers
  use twin
  implicit none
  integer, parameter :: probes = 4000
  integer :: step
  double precision :: mine(probes), all(probes, 2), total
  call start()
  mine = rank + 1
  all = 0
  total = 0
  do step = 1, 20
    call measure()
    call gather_probes()
    total = total + sum(all)
  end do
  if (rank /= 0) total = 0
  call finish('single_gathers', total)
contains
  subroutine measure()
    call work(20d0)
    mine = mine + 1
  end subroutine

  subroutine gather_probes()
    integer :: p
    double precision :: one(2)
    if (fixed) then
      call MPI_Gather(mine, probes, MPI_DOUBLE_PRECISION, all, probes, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
    else
      do p = 1, probes
        call MPI_Gather(mine(p), 1, MPI_DOUBLE_PRECISION, one, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr) ! PROBLEM
        if (rank == 0) all(p, :) = one
      end do
    end if
  end subroutine
end program
