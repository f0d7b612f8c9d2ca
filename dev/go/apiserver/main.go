// apiserver is kube-apiserver for the bench that profiles it. It labels each sample of its CPU profile with the request
// that the sample is for, and counts requests by client. Goroutines inherit the labels of the one that started them.
package main

import (
	"context"
	"net/http"
	"os"
	"runtime/pprof"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

var requests = metrics.NewCounterVec(
	&metrics.CounterOpts{Name: "torpor_bench_requests_total", Help: "Requests by kind and client."},
	[]string{"verb", "resource", "client"},
)

func main() {
	legacyregistry.MustRegister(requests)
	given := options.NewServerRunOptions()
	command := &cobra.Command{
		Use:          "kube-apiserver",
		SilenceUsage: true,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := given.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
				return err
			}
			rest.SetDefaultWarningHandler(rest.NoWarnings{})
			completed, err := given.Complete(command.Context())
			if err != nil {
				return err
			}
			return run(command.Context(), completed)
		},
	}
	command.SetContext(server.SetupSignalContext())
	flags := given.Flags()
	for _, set := range flags.FlagSets {
		command.Flags().AddFlagSet(set)
	}
	os.Exit(cli.Run(command))
}

// run is app.Run of kube-apiserver, with a handler around the others.
func run(ctx context.Context, completed options.CompletedOptions) error {
	config, err := app.NewConfig(completed)
	if err != nil {
		return err
	}
	// All requests arrive at the aggregator, which delegates them.
	generic := config.Aggregator.GenericConfig
	chain := generic.BuildHandlerChainFunc
	generic.BuildHandlerChainFunc = func(handler http.Handler, config *server.Config) http.Handler {
		return labelled(chain(handler, config), config.RequestInfoResolver)
	}
	whole, err := config.Complete()
	if err != nil {
		return err
	}
	servers, err := app.CreateServerChain(whole)
	if err != nil {
		return err
	}
	prepared, err := servers.PrepareRun()
	if err != nil {
		return err
	}
	return prepared.Run(ctx)
}

func labelled(handler http.Handler, resolver request.RequestInfoResolver) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, asked *http.Request) {
		verb, resource := kind(asked, resolver)
		client, _, _ := strings.Cut(asked.UserAgent(), "/")
		requests.WithLabelValues(verb, resource, client).Inc()
		labels := pprof.Labels("verb", verb, "resource", resource, "client", client)
		pprof.Do(asked.Context(), labels, func(ctx context.Context) {
			handler.ServeHTTP(writer, asked.WithContext(ctx))
		})
	})
}

// kind is the verb and the resource with its subresource; for a path that is no resource, the method and the path.
func kind(asked *http.Request, resolver request.RequestInfoResolver) (string, string) {
	info, err := resolver.NewRequestInfo(asked)
	if err != nil || !info.IsResourceRequest {
		return strings.ToLower(asked.Method), asked.URL.Path
	}
	if info.Subresource == "" {
		return info.Verb, info.Resource
	}
	return info.Verb, info.Resource + "/" + info.Subresource
}
