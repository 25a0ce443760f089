! MPI_IN_PLACE, MPI_BOTTOM and MPI_PROC_NULL with use mpi, and collectives with a root.
! The record: Bcast, Reduce, Gather, Scatter from root 1, Allreduce twice; rank 0 sends 16 bytes through MPI_BOTTOM.
! ranks: 2
program sentinels
  use mpi
  implicit none
  integer :: ierr, me, v(4), w(4), s, typ, status(MPI_STATUS_SIZE)
  integer :: lens(2), types(2)
  integer(kind=MPI_ADDRESS_KIND) :: where(2)
  double precision :: x
  integer :: two(2)
  common /data/ x, two
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  v = me
  call MPI_Bcast(v, 4, MPI_INTEGER, 1, MPI_COMM_WORLD, ierr) ! site:bcast
  s = me + 1
  call MPI_Allreduce(MPI_IN_PLACE, s, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr) ! site:in_place
  call MPI_Allreduce(me, w, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierr)
  if (me == 0) print *, 'allreduce', v(4), s, w(1)
  if (me == 1) then
    call MPI_Reduce(MPI_IN_PLACE, s, 1, MPI_INTEGER, MPI_SUM, 1, MPI_COMM_WORLD, ierr)
  else
    call MPI_Reduce(s, w, 1, MPI_INTEGER, MPI_SUM, 1, MPI_COMM_WORLD, ierr)
  end if
  call MPI_Gather(me, 1, MPI_INTEGER, w, 1, MPI_INTEGER, 1, MPI_COMM_WORLD, ierr)
  call MPI_Scatter(w, 1, MPI_INTEGER, s, 1, MPI_INTEGER, 1, MPI_COMM_WORLD, ierr)
  if (s /= me) stop 1

  call MPI_Get_address(x, where(1), ierr)
  call MPI_Get_address(two, where(2), ierr)
  lens(1) = 1
  lens(2) = 2
  types(1) = MPI_DOUBLE_PRECISION
  types(2) = MPI_INTEGER
  call MPI_Type_create_struct(2, lens, where, types, typ, ierr)
  call MPI_Type_commit(typ, ierr)
  x = 2.5d0 * (1 - me)
  two = 9 * (1 - me)
  if (me == 0) then
    call MPI_Send(MPI_BOTTOM, 1, typ, 1, 6, MPI_COMM_WORLD, ierr) ! site:bottom
  else
    call MPI_Recv(MPI_BOTTOM, 1, typ, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  end if
  call MPI_Type_free(typ, ierr)
  if (x /= 2.5d0 .or. two(2) /= 9) stop 2
  call MPI_Sendrecv(v, 1, MPI_INTEGER, MPI_PROC_NULL, 1, w, 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, status, ierr)
  if (me == 0) print *, 'sentinels', status(MPI_SOURCE) == MPI_PROC_NULL
  call MPI_Finalize(ierr)
end program sentinels
