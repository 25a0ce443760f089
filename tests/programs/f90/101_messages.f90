! Point to point with use mpi: wildcards, MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE, LOGICAL flags, 1-based indices.
! The record: rank 1 sends 8 messages to rank 0, tags 1 to 8, of 4 bytes per tag; each is received once.
! ranks: 2
program messages
  use mpi
  implicit none
  integer :: ierr, me, i, n, done, buf(8), in(8,8)
  integer :: status(MPI_STATUS_SIZE), stats(MPI_STATUS_SIZE,3)
  integer :: req(3), ind(3)
  logical :: flag
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  if (me == 1) then
    do i = 1, 8
      buf(1) = 100 + i
      call MPI_Send(buf, i, MPI_INTEGER, 0, i, MPI_COMM_WORLD, ierr) ! site:send
    end do
  else
    call MPI_Recv(buf, 8, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr) ! site:recv
    call MPI_Get_count(status, MPI_INTEGER, n, ierr)
    print *, 'recv', status(MPI_SOURCE), status(MPI_TAG), n, buf(1)
    call MPI_Recv(buf, 8, MPI_INTEGER, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr) ! site:ignore
    print *, 'ignore', buf(1)

    flag = .false.
    do while (.not. flag)
      call MPI_Iprobe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, flag, status, ierr) ! site:iprobe
    end do
    call MPI_Irecv(buf, 8, MPI_INTEGER, 1, 3, MPI_COMM_WORLD, req(1), ierr)
    flag = .false.
    do while (.not. flag)
      call MPI_Test(req(1), flag, status, ierr) ! site:test
    end do
    print *, 'test', flag, status(MPI_TAG), req(1) == MPI_REQUEST_NULL

    do i = 1, 3
      call MPI_Irecv(in(1,i), 8, MPI_INTEGER, 1, 3+i, MPI_COMM_WORLD, req(i), ierr) ! site:irecv
    end do
    call MPI_Wait(req(2), MPI_STATUS_IGNORE, ierr)
    n = 0
    do while (n < 2)
      call MPI_Waitsome(3, req, done, ind, stats, ierr) ! site:waitsome
      do i = 1, done
        if (stats(MPI_TAG,i) /= 3 + ind(i)) stop 1
      end do
      n = n + done
    end do
    print *, 'waitsome', in(1,1), in(1,2), in(1,3)

    call MPI_Irecv(in(1,1), 8, MPI_INTEGER, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, req(1), ierr)
    call MPI_Irecv(in(1,2), 8, MPI_INTEGER, 1, MPI_ANY_TAG, MPI_COMM_WORLD, req(2), ierr)
    call MPI_Waitall(2, req, MPI_STATUSES_IGNORE, ierr) ! site:waitall
    print *, 'waitall', in(1,1), in(1,2)
  end if
  call MPI_Finalize(ierr)
end program messages
