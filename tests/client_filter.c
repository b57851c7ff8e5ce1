/*
 * client_filter.c - runs a program under a filter of system calls (seccomp)
 *
 * client_filter only N,N,... CMD...   kills it at any system call but these numbers
 * client_filter readonly CMD...       mprotect(PROT_WRITE) fails with EACCES, as hardened systems have it
 * client_filter noexec CMD...         mprotect(PROT_EXEC) fails with EPERM, as systemd's MemoryDenyWriteExecute has it
 * client_filter kill CMD...           kills it at any mprotect
 * client_filter killwrite CMD...      kills it at mprotect(PROT_WRITE)
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct sock_filter program[600];
static unsigned short length;

static void add(unsigned short code, unsigned char yes, unsigned char no, unsigned k)
{
	if (length == sizeof program / sizeof *program)
		exit(2);
	program[length++] = (struct sock_filter)BPF_JUMP(code, k, yes, no);
}

static void load(size_t offset)
{
	add(BPF_LD | BPF_W | BPF_ABS, 0, 0, (unsigned)offset);
}

/* ACTION where PROTECTION is asked for. */
static void mprotect_with(unsigned protection, unsigned action)
{
	add(BPF_JMP | BPF_JEQ | BPF_K, 0, 3, __NR_mprotect);
	load(offsetof(struct seccomp_data, args[2]));
	add(BPF_JMP | BPF_JSET | BPF_K, 0, 1, protection);
	add(BPF_RET | BPF_K, 0, 0, action);
	add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
}

int main(int argc, char **argv)
{
	struct sock_fprog filter = { .filter = program };
	int command = 2;

	load(offsetof(struct seccomp_data, nr));
	if (argc > 3 && !strcmp(argv[1], "only")) {
		for (char *n = strtok(argv[2], ","); n; n = strtok(NULL, ",")) {
			add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (unsigned)atoi(n));
			add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
		}
		add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
		command = 3;
	} else if (argc > 2 && !strcmp(argv[1], "readonly")) {
		mprotect_with(PROT_WRITE, SECCOMP_RET_ERRNO | EACCES);
	} else if (argc > 2 && !strcmp(argv[1], "noexec")) {
		mprotect_with(PROT_EXEC, SECCOMP_RET_ERRNO | EPERM);
	} else if (argc > 2 && !strcmp(argv[1], "kill")) {
		add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, __NR_mprotect);
		add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
		add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
	} else if (argc > 2 && !strcmp(argv[1], "killwrite")) {
		mprotect_with(PROT_WRITE, SECCOMP_RET_KILL_PROCESS);
	} else {
		return 2;
	}
	filter.len = length;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
		perror("client_filter: no filters here");
		return 77;
	}
	execvp(argv[command], argv + command);
	perror(argv[command]);
	return 127;
}
