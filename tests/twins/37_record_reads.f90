! An ensemble on 4 ranks: in each of 6 cycles the members' input is read from a file and the members are advanced.
! Problem: read_members() on rank 0 reads the input of all ranks (50 ms per member, the latency of the file system) and
! sends it to one rank after the other; the others wait in MPI_Recv.
! fixed: each rank opens the file and reads its own record.
program record_reads
  use twin
  implicit none
  integer, parameter :: n = 100
  integer :: cycle_number, unit, length
  double precision :: member(n), mine, total
  character(len=200) :: name
  call start()
  call get_environment_variable('TMPDIR', name, length)
  if (length == 0) name = '/tmp'
  name = trim(name) // '/twin_record_reads.data'
  if (rank == 0) call write_file()
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  open (newunit=unit, file=name, access='direct', recl=8 * n, form='unformatted', action='read')
  mine = 0
  do cycle_number = 1, 6
    call read_members()
    call work(100d0)
    mine = mine + sum(member) * cycle_number
  end do
  close (unit)
  call MPI_Reduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
  if (rank == 0) then
    open (newunit=unit, file=name)
    close (unit, status='delete')
  end if
  call finish('record_reads', total)
contains
  subroutine read_members()
    integer :: other
    double precision :: first(n)
    if (fixed) then
      call read_record(rank, member)
    else if (rank == 0) then
      call read_record(0, first)
      do other = 1, nranks - 1
        call read_record(other, member) ! PROBLEM
        call MPI_Send(member, n, MPI_DOUBLE_PRECISION, other, 1, MPI_COMM_WORLD, ierr)
      end do
      member = first
    else
      call MPI_Recv(member, n, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    end if
  end subroutine

  subroutine read_record(number, values)
    integer, intent(in) :: number
    double precision, intent(out) :: values(n)
    call work(50d0)
    read (unit, rec=number + 1) values
  end subroutine

  subroutine write_file()
    integer :: out, r
    open (newunit=out, file=name, access='direct', recl=8 * n, form='unformatted', action='write')
    do r = 1, nranks
      member = r
      write (out, rec=r) member
    end do
    close (out)
  end subroutine
end program
