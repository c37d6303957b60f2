package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

type sample struct {
	Items      int64   `json:"items"`
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpu_seconds"`
	PeakBytes  int64   `json:"peak_bytes"`
	HeldBytes  int64   `json:"held_bytes"`
}

func measure(ctx context.Context, work task) (sample, error) {
	started := time.Now()
	before, err := processorTime()
	if err != nil {
		return sample{}, err
	}
	items, err := work(ctx)
	if err != nil {
		return sample{}, err
	}
	seconds := time.Since(started).Seconds()
	after, err := processorTime()
	if err != nil {
		return sample{}, err
	}
	held, err := statusBytes("VmRSS:")
	if err != nil {
		return sample{}, err
	}
	peak, err := statusBytes("VmHWM:")
	cpu := (after - before).Seconds()
	return sample{Items: items, Seconds: seconds, CPUSeconds: cpu, PeakBytes: peak, HeldBytes: held}, err
}

func processorTime() (time.Duration, error) {
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}

// statusBytes asks /proc and not getrusage, whose largest size begins with that of the parent process.
func statusBytes(line string) (int64, error) {
	file, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if text, found := strings.CutPrefix(lines.Text(), line); found {
			var kilobytes int64
			_, err := fmt.Sscanf(text, "%d kB", &kilobytes)
			return kilobytes << 10, err
		}
	}
	return 0, errors.Join(lines.Err(), fmt.Errorf("/proc/self/status has no %s", line))
}
