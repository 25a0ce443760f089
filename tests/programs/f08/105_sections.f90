! Array sections with mpi_f08: every second element, sent without a copy where the library supports it.
! The record: rank 0 sends 20 bytes to rank 1 with tag 1 and 12 bytes with tag 2.
! ranks: 2
program sections
  use mpi_f08
  implicit none
  integer :: me, i, a(10), b(10), m(3,3)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  a = [(i, i = 1, 10)]
  b = 0
  m = me
  if (me == 0) then
    call MPI_Send(a(1:10:2), 5, MPI_INTEGER, 1, 1, MPI_COMM_WORLD) ! site:send
    call MPI_Send(m(2,:), 3, MPI_INTEGER, 1, 2, MPI_COMM_WORLD)
  else
    call MPI_Recv(b, 5, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ! site:recv
    call MPI_Recv(m(2,:), 3, MPI_INTEGER, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    if (any(b(1:5) /= [1, 3, 5, 7, 9])) stop 1
    if (m(2,1) + m(2,3) /= 0 .or. m(1,1) /= 1) stop 2
  end if
  call MPI_Barrier(MPI_COMM_WORLD)
  if (me == 0) print *, 'sections: done'
  call MPI_Finalize()
end program sections
