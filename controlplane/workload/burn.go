package main

import (
	"runtime"
	"syscall"
	"unsafe"
)

const clockThreadCPU = 3 // CLOCK_THREAD_CPUTIME_ID

// burn uses this much CPU time, however long a busy or throttled node takes to give it.
func burn(seconds float64) {
	if seconds <= 0 {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	end := threadCPU() + seconds
	for value := uint64(1); threadCPU() < end; {
		for range 2000 {
			value = value*6364136223846793005 + 1442695040888963407
		}
		sink = value
	}
}

var sink uint64

func threadCPU() float64 {
	var now syscall.Timespec
	_, _, _ = syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPU, uintptr(unsafe.Pointer(&now)), 0)
	return float64(now.Sec) + float64(now.Nsec)/1e9
}
