package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

const (
	prSetDumpable       = 4
	prSetChildSubreaper = 36
	signalExit          = 128 // as container runtimes report the end by a signal
)

// drainLimit is how long output of processes that outlive the program is read. Tests shorten it.
var drainLimit = 2 * time.Second

// notForwarded are signals that the kernel or Go's runtime sends to this process itself.
var notForwarded = map[os.Signal]bool{syscall.SIGCHLD: true, syscall.SIGURG: true, syscall.SIGPIPE: true}

// supervise runs a program in a process group of its own and returns its exit code. It is process 1 of the container:
// it passes on each signal, and reaps every process whose parent has ended. With output, it copies standard output.
func supervise(command, environment []string, output *recorder) (int, error) {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return cannotStart(command[0], err)
	}
	// The program must not read the environment of this process, which has the nonce of the pod.
	syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0)
	syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
	signals := make(chan os.Signal, 64)
	signal.Notify(signals)
	defer signal.Stop(signals)
	stdout, drained, err := outputOf(output)
	if err != nil {
		return 1, err
	}
	pid, err := syscall.ForkExec(path, command, &syscall.ProcAttr{
		Env:   environment,
		Files: []uintptr{0, stdout, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if output != nil {
		syscall.Close(int(stdout))
	}
	if err != nil {
		return cannotStart(command[0], err)
	}
	go forward(signals, pid)
	status := reap(pid)
	syscall.Kill(-pid, syscall.SIGKILL) // as the end of process 1 does to what it left
	drained()
	if status.Signaled() {
		return signalExit + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}

func cannotStart(program string, err error) (int, error) {
	var known *exec.Error
	if errors.As(err, &known) {
		err = known.Err
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return exitNotFound, failure(exitNotFound, "cannot start %s: it is not in the image: %s", program, err)
	}
	return exitNotExecutable, failure(exitNotExecutable, "cannot start %s: %s", program, err)
}

// outputOf returns the standard output of the program, and a function that waits until all of it is copied. Processes
// that left the group can hold the pipe open, so the wait is limited.
func outputOf(output *recorder) (uintptr, func(), error) {
	if output == nil {
		return 1, func() {}, nil
	}
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		return 0, nil, failure(1, "cannot create a pipe: %s", err)
	}
	if err := syscall.SetNonblock(ends[0], true); err != nil { // so that a read has a deadline
		return 0, nil, failure(1, "cannot read a pipe: %s", err)
	}
	reader := os.NewFile(uintptr(ends[0]), "stdout")
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(output, reader)
	}()
	return uintptr(ends[1]), func() {
		_ = reader.SetReadDeadline(time.Now().Add(drainLimit))
		<-copied
		reader.Close()
	}, nil
}

func forward(signals <-chan os.Signal, pid int) {
	for received := range signals {
		if number, ok := received.(syscall.Signal); ok && !notForwarded[received] {
			syscall.Kill(pid, number)
		}
	}
}

// reap waits for the program, and for every other process that ends meanwhile.
func reap(pid int) syscall.WaitStatus {
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		if err == nil && ended == pid && (status.Exited() || status.Signaled()) {
			return status
		}
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return status // no child is left: the program's end was seen by nobody, which cannot be
		}
	}
}
