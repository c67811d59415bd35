import { type OverviewHours, readOverviewHours } from '@gateway/contracts/console/overview';
import { AUDIT_ACTIONS, type AuditAction } from '@gateway/contracts/console/users';
import type { SendKind } from '@gateway/contracts/content/message-content';
import type { SendStatus } from '@gateway/contracts/sends/statuses';
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import type { AuditFilter } from '../api/audit.js';
import type { MessageFilter } from '../api/messages.js';
import { queryClient } from '../api/query-client.js';
import { meQuery } from '../api/session.js';
import { NotFound, PageFailure } from '../components/states/failure.js';
import { KINDS, STATUSES } from '../pages/messages/filter-values.js';
import { OverviewPage } from '../pages/overview/overview-page.js';
import { SignInPage } from '../pages/sign-in/sign-in-page.js';
import { withTexts } from './language.js';
import { Shell } from './shell/shell.js';

const root = createRootRoute({ component: Outlet });

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: ({ next }: Record<string, unknown>): { next?: string } =>
    typeof next === 'string' && next.startsWith('/') && !next.startsWith('//') ? { next } : {},
  component: SignInPage,
});

/** All pages of those who are signed in. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  beforeLoad: async ({ location }) => {
    const me = await queryClient.fetchQuery(meQuery);
    if (!me) throw redirect({ to: '/sign-in', search: location.pathname === '/' ? {} : { next: location.href } });
  },
  component: Shell,
});

const home = createRoute({
  getParentRoute: () => inside,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/overview' });
  },
});

/** Comes with the way in, and not after it: on a phone each step to fetch what the former one asks for is half a second. */
const overview = createRoute({
  getParentRoute: () => inside,
  path: '/overview',
  validateSearch: ({ hours }: Record<string, unknown>): { hours?: OverviewHours } => {
    const known = readOverviewHours(hours);
    return known === undefined ? {} : { hours: known };
  },
  component: OverviewPage,
});

const devices = createRoute({
  getParentRoute: () => inside,
  path: '/devices',
  component: lazyRouteComponent(() => import('../pages/devices/devices-page.js'), 'DevicesPage'),
});

const device = createRoute({
  getParentRoute: () => inside,
  path: '/devices/$device',
  component: lazyRouteComponent(() => import('../pages/device/device-page.js'), 'DevicePage'),
});

const history = createRoute({
  getParentRoute: () => inside,
  path: '/devices/$device/history',
  component: lazyRouteComponent(() => import('../pages/device/history-page.js'), 'HistoryPage'),
});

const tokens = createRoute({
  getParentRoute: () => inside,
  path: '/settings/api',
  // Of a token that was found: its row is shown.
  validateSearch: ({ key }: Record<string, unknown>): { key?: string } => (typeof key === 'string' ? { key } : {}),
  component: lazyRouteComponent(() => import('../pages/settings/tokens-page.js'), 'TokensPage'),
});

const webhooks = createRoute({
  getParentRoute: () => inside,
  path: '/settings/webhooks',
  component: lazyRouteComponent(
    () => withTexts('webhooks', import('../pages/webhooks/webhooks-page.js')),
    'WebhooksPage',
  ),
});

const webhook = createRoute({
  getParentRoute: () => inside,
  path: '/settings/webhooks/$webhook',
  component: lazyRouteComponent(() => withTexts('webhooks', import('../pages/webhook/webhook-page.js')), 'WebhookPage'),
});

const users = createRoute({
  getParentRoute: () => inside,
  path: '/settings/users',
  component: lazyRouteComponent(() => import('../pages/users/users-page.js'), 'UsersPage'),
});

const sessions = createRoute({
  getParentRoute: () => inside,
  path: '/settings/sessions',
  component: lazyRouteComponent(() => import('../pages/sessions/sessions-page.js'), 'SessionsPage'),
});

const audit = createRoute({
  getParentRoute: () => inside,
  path: '/settings/audit',
  validateSearch: ({ user, action }: Record<string, unknown>): AuditFilter => ({
    ...(typeof user === 'string' && { user }),
    ...(AUDIT_ACTIONS.includes(action as AuditAction) && { action: action as AuditAction }),
  }),
  component: lazyRouteComponent(() => import('../pages/audit/audit-page.js'), 'AuditPage'),
});

const optOuts = createRoute({
  getParentRoute: () => inside,
  path: '/opt-outs',
  component: lazyRouteComponent(() => import('../pages/opt-outs/opt-outs-page.js'), 'OptOutsPage'),
});

const messages = createRoute({
  getParentRoute: () => inside,
  path: '/messages',
  validateSearch: ({ device, status, kind, days }: Record<string, unknown>): MessageFilter => ({
    ...(typeof device === 'string' && { device }),
    ...(STATUSES.includes(status as SendStatus) && { status: status as SendStatus }),
    ...(KINDS.includes(kind as SendKind) && { kind: kind as SendKind }),
    ...(typeof days === 'number' && days > 0 && { days }),
  }),
  component: lazyRouteComponent(() => import('../pages/messages/messages-page.js'), 'MessagesPage'),
});

const newMessage = createRoute({
  getParentRoute: () => inside,
  path: '/messages/new',
  validateSearch: ({ again, device }: Record<string, unknown>): { again?: string; device?: string } => ({
    ...(typeof again === 'string' && { again }),
    ...(typeof device === 'string' && { device }),
  }),
  component: lazyRouteComponent(() => import('../pages/new-message/new-message-page.js'), 'NewMessagePage'),
});

const message = createRoute({
  getParentRoute: () => inside,
  path: '/messages/$message',
  validateSearch: ({ recipient }: Record<string, unknown>): { recipient?: number } =>
    Number.isInteger(recipient) ? { recipient: recipient as number } : {},
  component: lazyRouteComponent(() => import('../pages/message/send-page.js'), 'SendPage'),
});

/** A page that is new has its line here. */
const PAGES = [
  home,
  overview,
  devices,
  device,
  history,
  messages,
  newMessage,
  message,
  optOuts,
  tokens,
  webhooks,
  webhook,
  users,
  sessions,
  audit,
] as const;

export const router = createRouter({
  routeTree: root.addChildren([signIn, inside.addChildren(PAGES)]),
  basepath: '/console',
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultErrorComponent: PageFailure,
  defaultNotFoundComponent: NotFound,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
