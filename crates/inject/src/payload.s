# Code that runs in the target process: position-independent, copied to a page there. The next page holds the parameters (payload.rs has
# the offsets), followed by the XSAVE state of the borrowed thread and a stack for it.

.set PAGE, 4096
.set STATE, 0
.set DESCRIPTOR, 4
.set WRITTEN, 8
.set FREE, 12
.set RESULT, 16
.set READY, 20
.set THREAD, 24
.set CREATE, 32
.set OWN, 40
.set DETACH, 48
.set OPEN, 56
.set SYMBOL, 64
.set ERROR, 72
.set UNMAP, 80
.set BYTES, 88
.set RANK, 96
.set SIZE, 100
.set PAUSE, 104
.set MASK, 120
.set REGISTERS, 128
.set NAME, 512
.set ENTRANCE, 576
.set PATH, 640
.set SAID, 768
.set DOOR, 1280
.set SECRET, 1536
.set WIDE, 4096

.pushsection .text.sintonia_payload, "ax", @progbits
.globl sintonia_payload_begin
.hidden sintonia_payload_begin
.globl sintonia_payload_end
.hidden sintonia_payload_end

# The borrowed thread: creates a thread, and signals that it can be restored.
sintonia_payload_begin:
    lea rbx, [rip + sintonia_payload_begin + PAGE]
    lea rdi, [rbx + THREAD]
    xor esi, esi
    lea rdx, [rip + 20f]
    mov rcx, rbx
    cld
    call [rbx + CREATE]
    mov [rbx + RESULT], eax
    mov eax, 39                     # getpid
    syscall
    mov r12d, eax
    mov eax, 186                    # gettid
    syscall
    mov edi, r12d
    mov esi, eax
    mov edx, [rbx + READY]
    mov eax, 234                    # tgkill: an ignored signal; the tracer, if there is one, restores this thread
    syscall
# The tracer is gone: the thread restores itself.
    mov eax, 14                     # rt_sigprocmask(SIG_SETMASK, mask, null, 8)
    mov edi, 2
    lea rsi, [rbx + MASK]
    xor edx, edx
    mov r10d, 8
    syscall
    mov eax, -1
    mov edx, -1
    xrstor64 [rbx + WIDE]
    push qword ptr [rbx + REGISTERS + 120]
    popfq
    mov r15, [rbx + REGISTERS]
    mov r14, [rbx + REGISTERS + 8]
    mov r13, [rbx + REGISTERS + 16]
    mov r12, [rbx + REGISTERS + 24]
    mov rbp, [rbx + REGISTERS + 32]
    mov r11, [rbx + REGISTERS + 48]
    mov r10, [rbx + REGISTERS + 56]
    mov r9, [rbx + REGISTERS + 64]
    mov r8, [rbx + REGISTERS + 72]
    mov rax, [rbx + REGISTERS + 80]
    mov rcx, [rbx + REGISTERS + 88]
    mov rdx, [rbx + REGISTERS + 96]
    mov rsi, [rbx + REGISTERS + 104]
    mov rdi, [rbx + REGISTERS + 112]
    mov rsp, [rbx + REGISTERS + 128]
    mov rbx, [rbx + REGISTERS + 40]
    jmp qword ptr [rip + sintonia_payload_begin + PAGE + REGISTERS + 136]

# The new thread.
20:
    push rbx
    push r12
    sub rsp, 8
    mov rbx, rdi
# W^X from now on.
    lea rdi, [rbx - PAGE]
    mov esi, PAGE
    mov edx, 5                      # PROT_READ | PROT_EXEC
    mov eax, 10                     # mprotect
    syscall
    mov rdi, rbx
    mov rsi, [rbx + BYTES]
    sub rsi, PAGE
    mov edx, 3                      # PROT_READ | PROT_WRITE
    mov eax, 10
    syscall
    call [rbx + OWN]
    mov rdi, rax
    call [rbx + DETACH]
# The probe may still be loaded from an earlier attach.
    lea rdi, [rbx + NAME]
    mov esi, 6                      # RTLD_NOW | RTLD_NOLOAD
    call [rbx + OPEN]
    test rax, rax
    jnz 24f
# An anonymous file (memfd) that the injector fills, so that no shared directory is needed.
    mov eax, 319                    # memfd_create(name, MFD_CLOEXEC)
    lea rdi, [rbx + NAME]
    mov esi, 1
    syscall
    mov [rbx + DESCRIPTOR], eax
    mov dword ptr [rbx + STATE], 1
    mov r12d, 20000
21:
    cmp dword ptr [rbx + WRITTEN], 0
    jne 22f
    dec r12d
    jz 22f
    mov eax, 35                     # nanosleep
    lea rdi, [rbx + PAUSE]
    xor esi, esi
    syscall
    jmp 21b
22:
    lea rdi, [rbx + PATH]
    mov esi, 2                      # RTLD_NOW
    call [rbx + OPEN]
    mov r12, rax
    mov edi, [rbx + DESCRIPTOR]
    mov eax, 3                      # close
    syscall
    mov rax, r12
    test rax, rax
    jz 25f
24:
    mov rdi, rax
    lea rsi, [rbx + ENTRANCE]
    call [rbx + SYMBOL]
    test rax, rax
    jz 25f
    lea rdi, [rbx + DOOR]
    lea rsi, [rbx + SECRET]
    mov edx, [rbx + RANK]
    mov ecx, [rbx + SIZE]
    mov r8, rbx
    lea r9, [rbx + SAID]
    call rax
    jmp 28f
25:
    call [rbx + ERROR]
    test rax, rax
    jz 27f
    xor ecx, ecx
26:
    mov dl, [rax + rcx]
    mov [rbx + rcx + SAID], dl
    test dl, dl
    jz 27f
    inc ecx
    cmp ecx, 500
    jb 26b
27:
    mov dword ptr [rbx + STATE], 2
# The memory is freed when the injector no longer needs it. If the injector is gone, the borrowed thread may still use it: it is leaked.
28:
    mov r12d, 4000
29:
    cmp dword ptr [rbx + FREE], 0
    jne 30f
    dec r12d
    jz 31f
    mov eax, 35
    lea rdi, [rbx + PAUSE]
    xor esi, esi
    syscall
    jmp 29b
30:
    lea rdi, [rbx - PAGE]
    mov rsi, [rbx + BYTES]
    mov rax, [rbx + UNMAP]
    add rsp, 8
    pop r12
    pop rbx
    jmp rax
31:
    xor eax, eax
    add rsp, 8
    pop r12
    pop rbx
    ret
sintonia_payload_end:
.popsection
