// Command kubepeer does, with Go's own client library, what bench/ measures of Trimtab.
//
//	kubepeer list  -resource pods             page through a collection, keeping every object
//	kubepeer list  -resource pods -kept       a dynamic informer, until it is synced: it streams the list
//	kubepeer list  -resource pods -unstreamed     an informer that lists everything at once
//	kubepeer watch -since 42 -count 1000      hear so many events after a version
//	kubepeer watch -since 42 -count 1000 -kept    the same, by an informer that keeps the objects
//	kubepeer apply -manifests file -workers 8     server-side apply of every manifest, one JSON a line
//	kubepeer get   -count 1000 -objects 20        read objects one by one, without looking into them
//	kubepeer fan   -since 42 -count 10 -watchers 50    many watchers hear the same events, without looking into
//	               them; with -manifests those that applying them brings
//	kubepeer follow                           an informer: prints the versions of all that it keeps, at each
//	               change, until its standard input ends
//	kubepeer version                          what it was built from
//
// It prints one line of JSON: how many items, in how many seconds, for how much processor time (both from the
// first request on), and the largest resident size of the process. Client-side rate limits are off.
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

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

type options struct {
	kubeconfig string
	namespace  string
	resource   string
	kept       bool
	unstreamed bool
	pageSize   int64
	plain      bool
	since      string
	count      int64
	manifests  string
	workers    int
	watchers   int
	objects    int64
	limit      time.Duration
}

// A task is made ready before the clock starts; running it says how many items it handled.
type task func(ctx context.Context) (items int64, err error)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "kubepeer:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("say list, watch, apply, get, fan, follow or version")
	}
	if args[0] == "version" {
		return printVersions()
	}
	chosen, err := parse(args)
	if err != nil {
		return err
	}
	client, err := connect(chosen)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), chosen.limit)
	defer cancel()
	if args[0] == "follow" {
		return followed(ctx, client, schema.GroupVersionResource{Version: "v1", Resource: chosen.resource}, chosen.namespace)
	}
	prepared, err := prepare(args[0], client, chosen)
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
	flags.StringVar(&chosen.namespace, "namespace", "default", "where")
	flags.StringVar(&chosen.resource, "resource", "configmaps", "which collection of v1")
	flags.BoolVar(&chosen.kept, "kept", false, "by an informer")
	flags.BoolVar(&chosen.unstreamed, "unstreamed", false, "by an informer that lists everything at once")
	flags.Int64Var(&chosen.pageSize, "page-size", 500, "objects in a page of a list")
	flags.BoolVar(&chosen.plain, "uncompressed", false, "ask for no compression")
	flags.StringVar(&chosen.since, "since", "", "watch from this version on")
	flags.Int64Var(&chosen.count, "count", 0, "events to hear")
	flags.StringVar(&chosen.manifests, "manifests", "", "file of manifests, one JSON a line")
	flags.IntVar(&chosen.workers, "workers", 1, "requests under way at once")
	flags.IntVar(&chosen.watchers, "watchers", 1, "watches open at once")
	flags.Int64Var(&chosen.objects, "objects", 1, "how many objects there are to get")
	flags.DurationVar(&chosen.limit, "limit", 5*time.Minute, "give up after this long")
	err := flags.Parse(args[1:])
	return chosen, err
}

func connect(chosen options) (*dynamic.DynamicClient, error) {
	config, err := clientcmd.BuildConfigFromFlags("", chosen.kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.DisableCompression = chosen.plain
	return dynamic.NewForConfig(config)
}

func prepare(verb string, client dynamic.Interface, chosen options) (task, error) {
	kind := schema.GroupVersionResource{Version: "v1", Resource: chosen.resource}
	collection := client.Resource(kind).Namespace(chosen.namespace)
	switch {
	case verb == "list" && chosen.unstreamed:
		return syncedAtOnce(collection), nil
	case verb == "list" && chosen.kept:
		return synced(client, kind, chosen.namespace), nil
	case verb == "list":
		return listed(collection, chosen.pageSize), nil
	case verb == "watch" && chosen.kept:
		return replayed(collection, chosen.since, chosen.count), nil
	case verb == "watch":
		return watched(collection, chosen.since, chosen.count), nil
	case verb == "get" || verb == "fan":
		return prepareLoad(verb, collection, chosen)
	case verb == "apply":
		return applied(collection, chosen.manifests, chosen.workers)
	}
	return nil, fmt.Errorf("%q is not list, watch, apply, get, fan, follow or version", verb)
}

func printVersions() error {
	versions := map[string]string{"go": runtime.Version()}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			if module.Path == "k8s.io/client-go" {
				versions["client-go"] = module.Version
			}
		}
	}
	return json.NewEncoder(os.Stdout).Encode(versions)
}
