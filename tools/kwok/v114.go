package main

import (
	"context"

	"github.com/awslabs/operatorpkg/controller"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/operator"
)

// assembled puts the controllers together as Karpenter 1.14 wants it.
func assembled(ctx context.Context, op *operator.Operator, provider, base cloudprovider.CloudProvider) []controller.Controller {
	cluster := state.NewCluster(op.Clock, op.GetClient(), provider)
	return controllers.NewControllers(ctx, op.Manager, op.Clock, op.GetClient(), op.EventRecorder, provider, base, cluster, op.InstanceTypeStore)
}
