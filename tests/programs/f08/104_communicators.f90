! Communicators, persistent requests and returned errors with use mpi_f08.
! The record: world rank 2 sends 4 times to world rank 1 in a communicator whose ranks run backwards.
! ranks: 3
program communicators
  use mpi_f08
  implicit none
  integer :: ierr, me, mine, i, v, s, class, dims(1)
  type(MPI_Comm) :: comm, cart
  type(MPI_Request) :: req(1)
  logical :: period(1), wrap(1)
  integer :: coord(1)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_split(MPI_COMM_WORLD, 0, -me, comm, ierr) ! site:split
  call MPI_Comm_rank(comm, mine, ierr)
  v = 0
  if (mine == 0) call MPI_Send_init(v, 1, MPI_INTEGER, 1, 3, comm, req(1), ierr)
  if (mine == 1) call MPI_Recv_init(v, 1, MPI_INTEGER, 0, 3, comm, req(1), ierr)
  if (mine < 2) then
    do i = 1, 4
      if (mine == 0) v = i
      if (i < 3) then
        call MPI_Start(req(1), ierr) ! site:start
      else
        call MPI_Startall(1, req, ierr) ! site:startall
      end if
      call MPI_Wait(req(1), MPI_STATUS_IGNORE)
      if (v /= i) stop 1
    end do
    call MPI_Request_free(req(1), ierr)
  end if
  call MPI_Comm_free(comm, ierr)

  dims(1) = 3
  period(1) = .true.
  call MPI_Cart_create(MPI_COMM_WORLD, 1, dims, period, .false., cart, ierr)
  wrap(1) = .false.
  call MPI_Cart_get(cart, 1, dims, wrap, coord, ierr)
  call MPI_Cart_shift(cart, 0, 1, i, s, ierr)
  if (me == 0) print *, 'cart', wrap(1), coord(1), i, s
  call MPI_Comm_free(cart) ! ierror may be left out

  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  call MPI_Send(v, 1, MPI_INTEGER, 99, 0, MPI_COMM_WORLD, ierr)
  call MPI_Error_class(ierr, class, i)
  if (me == 0) print *, 'error', class == MPI_ERR_RANK
  call MPI_Finalize()
end program communicators
