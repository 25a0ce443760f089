! Clean: rank 0 reads a small input (8 ms) and broadcasts it; then 4 ranks compute in equal parts with halo exchanges.
! No problem worth naming.
program clean_startup
  use twin
  implicit none
  integer :: step, left, right
  double precision :: input, mine(100), halo(100), total
  call start()
  input = 0
  if (rank == 0) then
    call work(8d0)
    input = 1
  end if
  call MPI_Bcast(input, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
  left = mod(rank + nranks - 1, nranks)
  right = mod(rank + 1, nranks)
  mine = input
  do step = 1, 12
    call work(110d0)
    call MPI_Sendrecv(mine, 100, MPI_DOUBLE_PRECISION, right, 1, halo, 100, MPI_DOUBLE_PRECISION, left, 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    mine = (mine + halo) / 2 + 1
  end do
  call MPI_Reduce(sum(mine), total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
  call finish('clean_startup', total)
end program
