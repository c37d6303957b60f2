// Command enginepeer does, with Argo CD's GitOps engine, what bench/ measures of Trimtab's.
//
//	enginepeer cache                     fill its cluster cache
//	enginepeer cache -marked             the same, keeping the manifests that carry the mark
//	enginepeer storm -count 1000         fill it, then hear so many events; only these are measured
//	enginepeer diff -pairs file          compare pairs of objects, one JSON {"desired", "live"} a line
//	enginepeer sync -manifests file      sync manifests, one JSON a line; the cache is filled before the clock
//	               starts; with -again the first sync is not measured, the second is
//	enginepeer version                   what it was built from
//
// It prints one line of JSON: how many items, in how many seconds, for how much processor time, the largest
// resident size of the process, and the resident size at the end. Client-side rate limits are off.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The annotation by which objects count as managed.
const mark = "trimtab.dev/bench"

type options struct {
	kubeconfig string
	namespace  string
	marked     bool
	count      int64
	rounds     int64
	pairs      string
	threeWay   bool
	manifests  string
	validate   bool
	serverSide bool
	again      bool
	limit      time.Duration
}

// A task is made ready before the clock starts; running it says how many items it handled.
type task func(ctx context.Context) (items int64, err error)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "enginepeer:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("say cache, storm, diff, sync or version")
	}
	if args[0] == "version" {
		return printVersions()
	}
	chosen, err := parse(args)
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", chosen.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	ctx, cancel := context.WithTimeout(context.Background(), chosen.limit)
	defer cancel()
	prepared, err := prepare(ctx, args[0], config, chosen)
	if err != nil {
		return err
	}
	sample, err := measure(ctx, prepared)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(sample)
}

func parse(args []string) (options, error) {
	var chosen options
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&chosen.kubeconfig, "kubeconfig", "", "how to reach the API server")
	flags.StringVar(&chosen.namespace, "namespace", "default", "where to sync")
	flags.BoolVar(&chosen.marked, "marked", false, "keep the manifests that carry the mark")
	flags.Int64Var(&chosen.count, "count", 0, "events to hear")
	flags.Int64Var(&chosen.rounds, "rounds", 1, "compare every pair so often")
	flags.StringVar(&chosen.pairs, "pairs", "", "file of pairs, one JSON a line")
	flags.BoolVar(&chosen.threeWay, "three-way", false, "compare with the last applied configuration")
	flags.StringVar(&chosen.manifests, "manifests", "", "file of manifests, one JSON a line")
	flags.BoolVar(&chosen.validate, "validate", false, "check manifests against the schema, as is the default")
	flags.BoolVar(&chosen.serverSide, "server-side", false, "server-side apply")
	flags.BoolVar(&chosen.again, "again", false, "measure the second sync")
	flags.DurationVar(&chosen.limit, "limit", 10*time.Minute, "give up after this long")
	err := flags.Parse(args[1:])
	return chosen, err
}

func prepare(ctx context.Context, verb string, config *rest.Config, chosen options) (task, error) {
	log := logr.Discard()
	switch verb {
	case "cache":
		return filled(newCache(config, chosen.marked, log)), nil
	case "storm":
		return stormed(newCache(config, chosen.marked, log), chosen.count)
	case "diff":
		return compared(newCache(config, false, log), chosen, log)
	case "sync":
		return synced(ctx, config, chosen, log)
	}
	return nil, fmt.Errorf("%q is not cache, storm, diff, sync or version", verb)
}

func printVersions() error {
	versions := map[string]string{"go": runtime.Version()}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			if module.Path == "github.com/argoproj/argo-cd/gitops-engine" {
				versions["gitops-engine"] = module.Version
			}
		}
	}
	return json.NewEncoder(os.Stdout).Encode(versions)
}
