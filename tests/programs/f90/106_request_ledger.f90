! Every way to complete a request from Fortran, in another order than they were started, with a ledger kept by the program itself.
! Each request has a tag of its own. For each call that completed requests a line is written to `ledger-RANK.txt`, as in c/062:
! `THREAD FUNCTION KEY ...`. A key is the kind of operation and its tag; it ends in `?` where the program had copied the handle.
! The record: the same completions, call by call.
! ranks: 2
program request_ledger
  use mpi
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  interface
    integer(c_int) function usleep(microseconds) bind(c)
      import :: c_int
      integer(c_int), value :: microseconds
    end function
  end interface
  integer, parameter :: pairs = 6, count = 2 * pairs, large = 20000, rounds = 27
  integer :: ierr, rank, other, number, tags, state
  integer :: requests(count), copies(count), tag_of(count), buffer_of(count), statuses(MPI_STATUS_SIZE, count)
  integer :: values(large, count)
  character :: kind_of(count)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  other = 1 - rank
  tags = 0
  state = 17 + rank
  call open_ledger()
  do number = 0, rounds - 1
    select case (mod(number, 9))
    case (0)
      call wait_each()
    case (1)
      call wait_all()
    case (2)
      call wait_any()
    case (3)
      call wait_some()
    case (4)
      call test_each()
    case (5)
      call test_all_and_any()
    case (6)
      call test_some()
    case (7)
      call persistent()
    case (8)
      call cancel_and_free()
    end select
  end do
  call wait_copies()
  close (10)
  if (rank == 0) print '(a,i0)', 'tags: ', tags
  call MPI_Finalize(ierr)

contains

  subroutine open_ledger()
    character(len=32) :: name
    write (name, '(a,i0,a)') 'ledger-', rank, '.txt'
    open (10, file=name, status='replace')
  end subroutine

  ! Between two tests: without it, a record would be full of them.
  subroutine again()
    if (usleep(100_c_int) /= 0) stop 2
  end subroutine

  ! A number from 1 to `most`; each rank completes as it likes.
  integer function random(most)
    integer, intent(in) :: most
    state = mod(state * 421 + 1663, 7875)
    random = 1 + mod(state, most)
  end function

  subroutine shuffle(order)
    integer, intent(out) :: order(count)
    integer :: i, j, kept
    order = [(i, i = 1, count)]
    do i = count, 2, -1
      j = random(i)
      kept = order(i)
      order(i) = order(j)
      order(j) = kept
    end do
  end subroutine

  ! Starts a send and a receive of each tag, in array elements at random; some sends are synchronous or large.
  subroutine post()
    integer :: place(count), i, in, out, length
    call shuffle(place)
    buffer_of = [(i, i = 1, count)]
    do i = 1, pairs
      in = place(2 * i)
      out = place(2 * i - 1)
      length = merge(large, 1, mod(i, 4) == 0)
      kind_of(in) = 'r'
      kind_of(out) = 's'
      tag_of(in) = tags
      tag_of(out) = tags
      values(1, out) = tags
      call MPI_Irecv(values(1, in), length, MPI_INTEGER, other, tags, MPI_COMM_WORLD, requests(in), ierr)
      if (mod(i, 3) == 0) then
        call MPI_Issend(values(1, out), length, MPI_INTEGER, other, tags, MPI_COMM_WORLD, requests(out), ierr)
      else
        call MPI_Isend(values(1, out), length, MPI_INTEGER, other, tags, MPI_COMM_WORLD, requests(out), ierr)
      end if
      tags = tags + 1
    end do
  end subroutine

  ! A line of the ledger; checks what was received.
  subroutine completed(function, indices, copied)
    character(len=*), intent(in) :: function
    integer, intent(in) :: indices(:)
    logical, intent(in), optional :: copied
    integer :: i
    write (10, '(a,a)', advance='no') '0 ', function
    do i = 1, size(indices)
      if (kind_of(indices(i)) == 'r' .and. values(1, buffer_of(indices(i))) /= tag_of(indices(i))) stop 1
      write (10, '(a,a,i0)', advance='no') ' ', kind_of(indices(i)), tag_of(indices(i))
      if (present(copied) .and. kind_of(indices(i)) == 's') write (10, '(a)', advance='no') '?'
    end do
    write (10, '(a)') ''
  end subroutine

  subroutine wait_each()
    integer :: order(count), i
    call post()
    call shuffle(order)
    do i = 1, count
      call MPI_Wait(requests(order(i)), MPI_STATUS_IGNORE, ierr)
      call completed('MPI_Wait', order(i:i))
    end do
  end subroutine

  subroutine wait_all()
    integer :: i
    call post()
    call MPI_Waitall(count, requests, MPI_STATUSES_IGNORE, ierr)
    call completed('MPI_Waitall', [(i, i = 1, count)])
  end subroutine

  subroutine wait_any()
    integer :: i, index
    call post()
    do i = 1, count
      call MPI_Waitany(count, requests, index, MPI_STATUS_IGNORE, ierr)
      call completed('MPI_Waitany', [index])
    end do
  end subroutine

  subroutine wait_some()
    integer :: indices(count), some, done
    call post()
    done = 0
    do while (done < count)
      call MPI_Waitsome(count, requests, some, indices, statuses, ierr)
      call completed('MPI_Waitsome', indices(1:some))
      done = done + some
    end do
  end subroutine

  subroutine test_each()
    integer :: order(count), i
    logical :: flag
    call post()
    call shuffle(order)
    do i = 1, count
      flag = .false.
      do while (.not. flag)
        call MPI_Test(requests(order(i)), flag, MPI_STATUS_IGNORE, ierr)
        if (.not. flag) call again()
      end do
      call completed('MPI_Test', order(i:i))
    end do
  end subroutine

  subroutine test_all_and_any()
    integer :: i, index
    logical :: flag
    call post()
    flag = .false.
    do while (.not. flag)
      call MPI_Testall(count, requests, flag, statuses, ierr)
      if (.not. flag) call again()
    end do
    call completed('MPI_Testall', [(i, i = 1, count)])
    call post()
    i = 0
    do while (i < count)
      call MPI_Testany(count, requests, index, flag, MPI_STATUS_IGNORE, ierr)
      if (.not. flag) then
        call again()
      else
        call completed('MPI_Testany', [index])
        i = i + 1
      end if
    end do
  end subroutine

  subroutine test_some()
    integer :: indices(count), some, done
    call post()
    done = 0
    do while (done < count)
      call MPI_Testsome(count, requests, some, indices, MPI_STATUSES_IGNORE, ierr)
      if (some > 0) call completed('MPI_Testsome', indices(1:some))
      if (some == 0) call again()
      done = done + some
    end do
  end subroutine

  subroutine persistent()
    integer :: i, j
    buffer_of = [(i, i = 1, count)]
    kind_of(1:2) = ['S', 'R']
    tag_of(1:2) = tags
    values(1, 1) = tags
    call MPI_Send_init(values(1, 1), 1, MPI_INTEGER, other, tags, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Recv_init(values(1, 2), 1, MPI_INTEGER, other, tags, MPI_COMM_WORLD, requests(2), ierr)
    tags = tags + 1
    do i = 1, 3
      if (i == 2) then
        call MPI_Startall(2, requests, ierr)
      else
        call MPI_Start(requests(2), ierr)
        call MPI_Start(requests(1), ierr)
      end if
      do j = 2, 1, -1
        call MPI_Wait(requests(j), MPI_STATUS_IGNORE, ierr)
        call completed('MPI_Wait', [j])
      end do
      ! Inactive: nothing completes.
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    end do
    do j = 1, 2
      call MPI_Request_free(requests(j), ierr)
      call completed('MPI_Request_free', [j])
    end do
  end subroutine

  subroutine cancel_and_free()
    kind_of(1:2) = ['r', 's']
    tag_of(1:2) = tags
    values(1, 1:2) = tags
    call MPI_Irecv(values(1, 1), 1, MPI_INTEGER, other, tags, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Cancel(requests(1), ierr)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
    call completed('MPI_Wait', [1])
    tags = tags + 1
    tag_of(1:2) = tags
    values(1, 1:2) = tags
    call MPI_Irecv(values(1, 1), 1, MPI_INTEGER, other, tags, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Isend(values(1, 2), 1, MPI_INTEGER, other, tags, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Request_free(requests(2), ierr)
    call completed('MPI_Request_free', [2])
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
    call completed('MPI_Wait', [1])
    tags = tags + 1
    ! The freed send has been received when the other rank is here, too.
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
  end subroutine

  ! The handles are moved to other variables, in another order.
  subroutine wait_copies()
    integer :: order(count), i, way
    do way = 1, 2
      call post()
      call shuffle(order)
      copies = requests(order)
      kind_of = kind_of(order)
      tag_of = tag_of(order)
      buffer_of = order
      if (way == 1) then
        do i = 1, count
          call MPI_Wait(copies(i), MPI_STATUS_IGNORE, ierr)
          call completed('MPI_Wait', [i], copied=.true.)
        end do
      else
        call MPI_Waitall(count, copies, MPI_STATUSES_IGNORE, ierr)
        call completed('MPI_Waitall', [(i, i = 1, count)], copied=.true.)
      end if
    end do
  end subroutine
end program
